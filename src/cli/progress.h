// A progress bar for long work, shown on terminals only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/interrupt.h"
#include "cli/terminal/terminal_mode.h"

namespace ingot {

/// Returns "label [####    ] 40 % note" for a terminal of this many columns, and leaves the last
/// one free. Where that is too long, shortens first the bar, then the label, then drops the bar and
/// the note.
std::string progress_line(std::string_view label, int percent, std::string_view note,
                          std::size_t columns);

/// Clears the line of the bar on the screen, if there is one, so that other text can follow.
/// Everything that writes to the terminal calls it. Async-signal-safe.
void hide_progress();

/// Draws a progress_line on stderr. The destructor clears the line. What the user types meanwhile
/// is not shown; the shell gets it.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws the bar for `done` of `total`. `note` is one line of text after the percentage.
  void show(std::uint64_t done, std::uint64_t total, const std::string& note = {});

 private:
  std::string label_;
  bool enabled_ = false;
  std::optional<TerminalMode> mode_;
  int percent_ = -1;
  std::string note_;
  std::size_t columns_ = 0;  ///< the terminal's width when the bar was drawn
};

/// Returns a progress callback that draws `bar`, and throws Interrupted after a signal.
inline auto interruptible(ProgressBar& bar) {
  return [&bar](std::uint64_t done, std::uint64_t total) {
    interruption_point();
    bar.show(done, total);
  };
}

}  // namespace ingot
