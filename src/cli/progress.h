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

  /// Draws the bar. `note` is one line of text that follows the percentage.
  void show(std::uint64_t done, std::uint64_t total, const std::string& note = {});
  /// Clears the line, so that other text can be shown. The next `show` draws it again.
  void hide();

 private:
  std::string label_;
  bool enabled_ = false;
  int percent_ = -1;
  std::string note_;
  std::size_t width_ = 0;  ///< length of the shown line
};

/// A progress callback that draws on `bar`, and throws Interrupted when a signal has come.
inline auto interruptible(ProgressBar& bar) {
  return [&bar](std::uint64_t done, std::uint64_t total) {
    interruption_point();
    bar.show(done, total);
  };
}

}  // namespace ingot
