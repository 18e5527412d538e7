// Reads whole inputs: all of stdin, its lines, JSON files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/json.h"

namespace ingot {

/// Waits for data on stdin and appends it to `text`. Returns false at the end of stdin.
///
/// Errors: Error{kIo}; Interrupted.
bool read_more_stdin(std::string& text);

/// Reads all of stdin. Errors: Error{kIo}; Error{kInvalid} beyond 256 MiB; Interrupted.
std::string read_stdin();

/// Splits a text into lines without line breaks. Errors: Error{kInvalid} for more than 65536 lines.
std::vector<std::string_view> split_lines(std::string_view text);

/// Parses a JSON file. Error messages call the document `section`.
///
/// Errors: Error{kModel} in the form of model_error.
Json read_json_file(const std::string& path, const std::string& section, const JsonLimits& limits);

}  // namespace ingot
