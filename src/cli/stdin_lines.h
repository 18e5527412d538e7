// Reads stdin line by line, and answers lines with JSON objects.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "load/json.h"

namespace ingot {

/// Reads the lines of stdin, each as soon as it arrives. Passes over a byte order mark at the
/// start.
class StdinLines {
 public:
  explicit StdinLines(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Returns the next line without line break (LF or CR LF), valid until the next call; or nothing
  /// at the end.
  ///
  /// Errors: Error{kIo}; Error{kInvalid} for a line of more than `bytes_max` bytes; Interrupted.
  std::optional<std::string_view> next();
  /// Returns the number of lines that `next` has returned.
  std::size_t number() const { return number_; }

 private:
  std::size_t bytes_max_;
  std::string held_;
  std::size_t at_ = 0;  // number of bytes of `held_` that `next` has returned
  std::size_t number_ = 0;
  bool ended_ = false;
};

/// Answers each line of stdin that is not blank when it arrives, with a JSON object: `answer`'s
/// result, or {"error"}. `answer` gets the line's JSON and the line's length. Returns true if no
/// line had an error.
///
/// Errors: those of StdinLines, for lines of more than `limits.bytes_max` bytes.
bool answer_lines(const JsonLimits& limits,
                  FunctionRef<Json(const Json& line, std::size_t)> answer);

}  // namespace ingot
