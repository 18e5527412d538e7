// LineRecall: earlier messages, which the arrow keys and the search bring back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// Earlier messages, oldest first, and a place in their list. The new text follows the newest one.
class LineRecall {
 public:
  static constexpr std::size_t kMessagesMax = 1000;

  /// Adds a message, unless it is the newest one already, and moves behind it.
  void add(std::string message);
  /// Moves behind the newest message.
  void restart();
  /// Moves to the message before or behind this one. `text` is the new text, which comes back
  /// behind the newest message. Returns nothing, and does not move, at the end.
  std::optional<std::string> older(const std::string& text);
  std::optional<std::string> newer();
  /// Moves to the newest message that has `part` and is older than this one; or may be this one
  /// itself, if `here` is true. Returns nothing, and does not move, if there is none.
  std::optional<std::string> search(std::string_view part, bool here);

 private:
  std::vector<std::string> messages_;
  std::size_t at_ = 0;  ///< messages_.size(): behind the newest
  std::string new_text_;
};

}  // namespace ingot
