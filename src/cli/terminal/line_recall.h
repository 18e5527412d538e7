// LineRecall: earlier messages, which the arrow keys and the search bring back.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/edit_buffer.h"

namespace ingot {

/// Earlier messages, oldest first, and a place in their list. The new text follows the newest one.
/// Each place keeps what the user made of its text, until `restart`.
class LineRecall {
 public:
  static constexpr std::size_t kMessagesMax = 1000;

  /// Adds a message, unless it is the newest one already, and restarts.
  void add(std::string message);
  /// Moves behind the newest message, and forgets all edited texts.
  void restart();
  /// Keeps `text` for this place, moves to the one before or behind it, and changes `text` to that
  /// one's. A message of several lines is text, as it was sent. Returns false, and does not move,
  /// at the end.
  bool older(EditBuffer& text);
  bool newer(EditBuffer& text);
  /// Keeps `text` for this place; a search begins.
  void keep(const EditBuffer& text);
  /// Moves to the newest message that has `part` and is older than this one; or may be this one
  /// itself, if `here` is true. Returns false, and does not move, if there is none.
  bool search(std::string_view part, bool here, EditBuffer& text);
  /// Returns and changes the place: the index of a message, or behind the newest one.
  std::size_t place() const { return at_; }
  void move_to(std::size_t place) { at_ = place; }
  void move_to_newest() { at_ = messages_.size(); }

 private:
  std::string text_at(std::size_t place) const;
  void show(EditBuffer& text) const;

  std::vector<std::string> messages_;
  std::map<std::size_t, EditBuffer> edited_;  ///< by place
  std::size_t at_ = 0;                        ///< messages_.size(): behind the newest
};

}  // namespace ingot
