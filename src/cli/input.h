// Reads whole inputs: files and pipes that users name, all of stdin, its lines.
#pragma once

#include <cstdint>
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

/// Returns whether `path` means stdin: "-", /dev/stdin, /dev/fd/0 or /proc/self/fd/0.
bool names_stdin(std::string_view path);

/// Reserves stdin for an option or argument named `reader`.
///
/// Errors: Error{kInvalid} that names both readers if another one has reserved stdin.
void claim_stdin(std::string_view reader);

/// A text that a user named.
struct TextInput {
  std::string name;  ///< the path, or "stdin"
  std::string text;
};

/// Reads a text that a user named: a regular file, a pipe (also a named one), or stdin. Waits until
/// a pipe has a writer and ends.
///
/// Errors: Error{kModel} in the form of model_error, also for more than `bytes_max` bytes;
/// Error{kIo} for stdin; Error{kInvalid} if Ctrl-C stops the wait (CtrlC); Interrupted.
TextInput read_input(const std::string& path, std::uint64_t bytes_max);

/// Returns whether a text has only spaces, tabs and line breaks.
bool is_blank(std::string_view text);

/// Splits a text into lines without line breaks (LF or CR LF). Errors: Error{kInvalid} for more
/// than 65536 lines.
std::vector<std::string_view> split_lines(std::string_view text);

/// Reads and parses a JSON text that a user named. Error messages call the document `section`.
///
/// Errors: those of read_input; Error{kModel} in the form of model_error.
Json read_json(const std::string& path, const std::string& section, const JsonLimits& limits);

}  // namespace ingot
