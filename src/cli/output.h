// Writes results to stdout completely, or throws an error.
#pragma once

#include <string_view>

namespace ingot {

/// Writes to stdout without buffering. Errors: Error{kIo} "stdout: cannot write: <reason>";
/// Interrupted if a signal arrives before all text is written.
void write_stdout(std::string_view text);

/// Writes a model's text. On a terminal, escapes control characters except newline and tab, because
/// they could control the terminal. A pipe or file gets the text unchanged.
void write_model_text(std::string_view text);

}  // namespace ingot
