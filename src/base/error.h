// Error: an exception with a code and a message for the user.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace ingot {

/// The kind of failure. cli/ maps each code to an exit code, server/ to an HTTP status.
enum class ErrorCode {
  kInvalid,      ///< a request or an option of the user is wrong
  kModel,        ///< a model, tokenizer or adapter file was refused
  kDoesNotFit,   ///< there is not enough memory; the message tells how much is needed
  kIo,           ///< reading or writing a file failed after it was opened
  kUnavailable,  ///< a port or address is not available, or there is too little time for a request
  kTimeout,      ///< a request exceeded its time limit
  kNotFinite,    ///< a sequence's logits are NaN; only this sequence ends
  kInternal,     ///< a bug in ingot
};

/// The exception for an operation that cannot continue. It is only thrown while files are opened or
/// at the edge of the API, never inside a step of the engine.
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

/// Makes a parser's error: "<file>: <section> @<offset>: <reason>", code kModel. Callers must pass
/// text from the file through `printable` first; `file` is made printable here.
Error model_error(std::string_view file, std::string_view section, std::uint64_t offset,
                  std::string_view reason);

/// Whether a terminal shows this code point without any effect on the rest of the line.
bool is_harmless(char32_t c);

/// Makes `text` safe to print on one line. Control characters, invalid UTF-8 and bidirectional
/// overrides become \xNN escapes. Text longer than `bytes_max` is cut and ends in "...".
std::string printable(std::string_view text, std::size_t bytes_max = 128);

}  // namespace ingot
