// Results on stdout: complete, or an error that says why not.
#pragma once

#include <string_view>

namespace ingot {

/// Writes to stdout at once. Errors: Error{kIo} "stdout: cannot write: <reason>"; Interrupted
/// when a signal ends the wait for a reader.
void write_stdout(std::string_view text);

/// Streams a model's text: as it is into a pipe or file, with control characters but newline and
/// tab escaped on a terminal, which they could otherwise command.
void write_model_text(std::string_view text);

}  // namespace ingot
