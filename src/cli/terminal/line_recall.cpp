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
  at_ = messages_.size();
  new_text_.clear();
}

std::optional<std::string> LineRecall::older(const std::string& text) {
  if (at_ == 0) return std::nullopt;
  if (at_ == messages_.size()) new_text_ = text;
  return messages_[--at_];
}

std::optional<std::string> LineRecall::newer() {
  if (at_ == messages_.size()) return std::nullopt;
  return ++at_ == messages_.size() ? new_text_ : messages_[at_];
}

std::optional<std::string> LineRecall::search(std::string_view part, bool here) {
  std::size_t i = at_;
  if (here && i < messages_.size()) ++i;
  while (i > 0) {
    if (messages_[--i].find(part) == std::string::npos) continue;
    at_ = i;
    return messages_[i];
  }
  return std::nullopt;
}

}  // namespace ingot
