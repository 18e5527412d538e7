// Error and its codes: failures that end an operation, with a message for the user.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace ingot {

/// The kind of failure; cli/ maps each to an exit code, server/ to an HTTP status.
enum class ErrorCode {
  kInvalid,      ///< the user's request or option is wrong
  kModel,        ///< a model, tokenizer or adapter file was refused
  kDoesNotFit,   ///< not enough memory; the message has the numbers
  kIo,           ///< reading or writing failed after opening
  kUnavailable,  ///< a port or address is not available, or time is too short for a request
  kTimeout,      ///< a request's time is over
  kNotFinite,    ///< a row's logits hold NaN: its sequence ends, the engine continues
  kInternal,     ///< a bug in ingot
};

/// Thrown when an operation cannot continue: only while opening or at the edge of the API, never
/// inside a step.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
};

/// The error of every parser: "<file>: <section> @<offset>: <reason>", code kModel. Text that came
/// from the file must have gone through `printable` first; `file` is made printable here.
Error model_error(std::string_view file, std::string_view section, std::uint64_t offset,
                  std::string_view reason);

/// Whether a terminal shows this code point as it is, with no effect on the rest of the line.
bool is_harmless(char32_t c);

/// `text` on one line: control characters, invalid UTF-8 and bidirectional overrides become \xNN
/// escapes; text longer than `bytes_max` is cut and ends in "...".
std::string printable(std::string_view text, std::size_t bytes_max = 128);

}  // namespace ingot
