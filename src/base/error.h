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
  kIo,           ///< reading an open file, or writing a file, failed
  kUnavailable,  ///< a port, address or service is not available, or a time limit cannot be kept
  kTimeout,      ///< a request exceeded its time limit
  kNotFinite,    ///< a sequence's logits are NaN; only this sequence ends
  kInternal,     ///< a bug in ingot
};

/// The exception for an operation that cannot continue. It comes from code that opens files and
/// from the edge of the API, never from a step of the engine.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  ErrorCode code() const { return code_; }
  /// Returns the message for scripts. An error about a section as a whole has " @0" in it.
  const std::string& message() const { return message_; }
  /// Returns the message for people: `message` without the " @0" of an error without an offset.
  std::string plain_message() const;
  /// Returns this error with `end` behind its message.
  Error with_end(std::string_view end) const;
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  friend Error section_error(ErrorCode code, std::string_view file, std::string_view section,
                             std::string_view reason);

  ErrorCode code_;
  std::string message_;
  std::size_t filler_at_ = std::string::npos;  ///< byte of the message at which " @0" begins
};

/// Makes a parser's error: "<file>: <section> @<offset>: <reason>", code kModel. It makes `file`
/// printable. Callers must pass other text from the file through `printable` first.
Error model_error(std::string_view file, std::string_view section, std::uint64_t offset,
                  std::string_view reason);
/// Makes an error about a section as a whole, which has no offset. Its message has the same form,
/// with "@0", because scripts parse that form (docs/decisions/0017).
Error section_error(ErrorCode code, std::string_view file, std::string_view section,
                    std::string_view reason);
/// Works as `section_error`, with code kModel.
Error model_error(std::string_view file, std::string_view section, std::string_view reason);

/// Returns whether a terminal shows this code point with no effect on the rest of the line.
bool is_harmless(char32_t c);

/// Makes `text` safe to print on one line. Control characters, invalid UTF-8 and bidirectional
/// overrides become \xNN escapes. Text longer than `bytes_max` is cut and ends in "...".
std::string printable(std::string_view text, std::size_t bytes_max = 128);

}  // namespace ingot
