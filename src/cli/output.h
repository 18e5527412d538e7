// Writes results to stdout completely, or throws the reason.
#pragma once

#include <string_view>

namespace ingot {

/// Writes to stdout without buffering. Errors: Error{kIo} "stdout: cannot write: <reason>";
/// Interrupted when a signal ends the wait for a reader.
void write_stdout(std::string_view text);

/// Writes a model's text. On a terminal, control characters except newline and tab are escaped, so
/// that they cannot control the terminal; a pipe or file gets the text unchanged.
void write_model_text(std::string_view text);

}  // namespace ingot
