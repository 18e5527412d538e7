// Writes results to stdout completely, or throws an error.
#pragma once

#include <optional>
#include <string_view>

#include "cli/terminal/terminal_mode.h"
#include "cli/terminal/word_wrap.h"

namespace ingot {

/// Writes to stdout without buffering. Errors: Error{kIo} "stdout: cannot write: <reason>";
/// Interrupted if a signal arrives before all text is written.
void write_stdout(std::string_view text);

/// Writes a model's streamed text to stdout. On a terminal, escapes control characters as
/// write_model_text does, wraps at words, and hides what the user types until destruction.
class ModelTextStream {
 public:
  ModelTextStream();
  /// Writes a piece of valid UTF-8. Errors: those of write_stdout.
  void write(std::string_view text);
  /// Returns whether a line has just ended, or no text came.
  bool is_at_line_start() const { return is_at_line_start_; }

 private:
  bool is_terminal_;
  std::optional<TerminalMode> mode_;
  WordWrap wrap_;
  int times_continued_ = 0;
  bool is_at_line_start_ = true;
};

/// Writes a model's text. On a terminal, escapes control characters except newline and tab, because
/// they could control the terminal. A pipe or file gets the text unchanged.
void write_model_text(std::string_view text);

}  // namespace ingot
