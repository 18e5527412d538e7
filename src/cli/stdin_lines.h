// Reads stdin line by line, and answers lines with JSON objects.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "load/json.h"

namespace ingot {

/// Reads the lines of stdin, each as soon as it arrives.
class StdinLines {
 public:
  explicit StdinLines(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Returns the next line without line break, valid until the next call; or nothing at the end.
  ///
  /// Errors: Error{kIo}; Error{kInvalid} for a line of more than `bytes_max` bytes; Interrupted.
  std::optional<std::string_view> next();

 private:
  std::size_t bytes_max_;
  std::string held_;
  std::size_t at_ = 0;  // number of bytes of `held_` that `next` has returned
  bool ended_ = false;
};

/// Answers each line of stdin when it arrives, with a JSON object: `answer`'s result, or {"error"}.
/// `answer` gets the line's JSON and the line's length. Returns true if no line had an error.
///
/// Errors: those of StdinLines, for lines of more than `limits.bytes_max` bytes.
bool answer_lines(const JsonLimits& limits,
                  FunctionRef<Json(const Json& line, std::size_t)> answer);

}  // namespace ingot
