// MessageLines: joins typed lines into messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// A line that ended with Enter. Pasted text may have line breaks.
struct InputLine {
  std::string_view text;
  std::size_t typed_front = std::string_view::npos;  ///< bytes before the first pasted one
  std::size_t typed_back = std::string_view::npos;   ///< bytes behind the last pasted one
};

/// A message that the user typed.
struct InputMessage {
  std::string text;
  bool is_plain = true;  ///< true: the text is one line, and may be a command
};

/// Joins lines into messages. A line that ends in a backslash continues in the next line. Text
/// between """ and """ stays unchanged. Only typed marks count: a paste stays as it is.
class MessageLines {
 public:
  /// Adds a line. Returns the message if this line completes it.
  std::optional<InputMessage> add(const InputLine& line);
  /// Returns whether a message is unfinished, so that the next line belongs to it.
  bool has_begun() const { return state_ != State::kStart; }
  /// Drops an unfinished message.
  void clear();

 private:
  enum class State { kStart, kContinued, kFenced };
  std::optional<InputMessage> add_fenced(InputLine line);
  InputMessage take(bool is_plain);

  State state_ = State::kStart;
  std::string text_;
};

/// Returns a line that gives the message again: the message itself, or the message between fences.
/// A message of several lines returns as it is, and has to come back as pasted text.
std::string line_of(const InputMessage& message);

}  // namespace ingot
