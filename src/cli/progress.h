// A progress bar for long work, shown on terminals only.
#pragma once

#include <cstdint>
#include <string>

#include "cli/interrupt.h"

namespace ingot {

/// Draws "label [####    ] 40 % note" on stderr. The destructor clears the line.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws the bar for `done` of `total`. `note` is one line of text after the percentage.
  void show(std::uint64_t done, std::uint64_t total, const std::string& note = {});
  /// Clears the line, so that the program can show other text. The next `show` draws the bar again.
  void hide();

 private:
  std::string label_;
  bool enabled_ = false;
  int percent_ = -1;
  std::string note_;
  std::size_t width_ = 0;  ///< length of the last drawn line in bytes
};

/// Returns a progress callback that draws `bar`, and throws Interrupted after a signal.
inline auto interruptible(ProgressBar& bar) {
  return [&bar](std::uint64_t done, std::uint64_t total) {
    interruption_point();
    bar.show(done, total);
  };
}

}  // namespace ingot
