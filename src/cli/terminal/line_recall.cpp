// LineRecall: moves among earlier messages.
#include "cli/terminal/line_recall.h"

#include <utility>

namespace ingot {

void LineRecall::add(std::string message) {
  if (messages_.empty() || messages_.back() != message) messages_.push_back(std::move(message));
  if (messages_.size() > kMessagesMax) messages_.erase(messages_.begin());
  restart();
}

void LineRecall::restart() {
  move_to_newest();
  edited_.clear();
}

std::string LineRecall::text_at(std::size_t place) const {
  const auto edited = edited_.find(place);
  if (edited != edited_.end()) return edited->second.text();
  return place < messages_.size() ? messages_[place] : std::string();
}

void LineRecall::keep(const EditBuffer& text) {
  if (text.text() != text_at(at_)) edited_[at_] = text;
}

/// Changes `text` to that of this place.
void LineRecall::show(EditBuffer& text) const {
  const auto edited = edited_.find(at_);
  if (edited != edited_.end()) return text.copy_text(edited->second);
  text.clear();
  const std::string message = text_at(at_);
  const bool has_lines = message.find('\n') != std::string::npos;
  // A message that was sent has a place.
  (void)text.insert(message, has_lines ? InputSource::kPasted : InputSource::kTyped);
}

bool LineRecall::older(EditBuffer& text) {
  if (at_ == 0) return false;
  keep(text);
  --at_;
  show(text);
  return true;
}

bool LineRecall::newer(EditBuffer& text) {
  if (at_ == messages_.size()) return false;
  keep(text);
  ++at_;
  show(text);
  return true;
}

bool LineRecall::search(std::string_view part, bool here, EditBuffer& text) {
  std::size_t i = at_;
  if (here && i < messages_.size()) ++i;
  while (i > 0) {
    if (text_at(--i).find(part) == std::string::npos) continue;
    at_ = i;
    show(text);
    return true;
  }
  return false;
}

}  // namespace ingot
