// Input that commands read whole: stdin by lines, and files of JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/json.h"

namespace ingot {

/// Appends what stdin has to read now, waiting for some of it; false at its end, with nothing
/// added.
///
/// Errors: Error{kIo}; Interrupted.
bool read_more_stdin(std::string& text);

/// All of stdin. Errors: Error{kIo}; Error{kInvalid} beyond 256 MiB; Interrupted.
std::string read_stdin();

/// The lines of a text, without their ends. Errors: Error{kInvalid} for more than 65536.
std::vector<std::string_view> split_lines(std::string_view text);

/// The document in a file that the user named; `section` is what it is, for messages.
///
/// Errors:  Error{kModel} in the form of model_error.
Json read_json_file(const std::string& path, const std::string& section, const JsonLimits& limits);

}  // namespace ingot
