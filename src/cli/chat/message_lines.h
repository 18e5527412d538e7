// MessageLines: joins typed lines into messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// A message that the user typed.
struct InputMessage {
  std::string text;
  bool is_plain = true;  ///< true: the text is one line as typed, and may be a command
};

/// Joins lines into messages. A line that ends in a backslash continues in the next line. Text
/// between """ and """ stays unchanged.
class MessageLines {
 public:
  /// Adds a line without its line break. Returns the message if this line completes it.
  std::optional<InputMessage> add(std::string_view line);
  /// Returns whether a message is unfinished, so that the next line belongs to it.
  bool has_begun() const { return state_ != State::kStart; }
  /// Drops an unfinished message.
  void clear();

 private:
  enum class State { kStart, kContinued, kFenced };
  std::optional<InputMessage> add_fenced(std::string_view line);
  InputMessage take(bool is_plain);

  State state_ = State::kStart;
  std::string text_;
};

}  // namespace ingot
