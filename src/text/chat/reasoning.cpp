// ReasoningSplitter: splits a reply at <think> and </think>.
#include "text/chat/reasoning.h"

#include <algorithm>

#include "text/chat/tools/mark_prefix.h"

namespace ingot {

namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::string_view kSpace = " \t\r\n";

}  // namespace

void ReasoningSplitter::release(std::size_t size, Parts& parts) {
  std::string_view text = std::string_view(held_).substr(0, size);
  if (trims_) text.remove_prefix(std::min(text.find_first_not_of(kSpace), size));
  trims_ = trims_ && text.empty();
  (state_ == State::kInside ? parts.reasoning : parts.content) += text;
  held_.erase(0, size);
}

ReasoningSplitter::Parts ReasoningSplitter::add(std::string_view text) {
  Parts parts;
  held_ += text;
  for (;;) {
    if (state_ == State::kStart) {
      // Only a reply that begins with <think> has reasoning.
      const std::size_t begin = held_.find_first_not_of(kSpace);
      if (begin == std::string::npos) return parts;
      const std::string_view rest = std::string_view(held_).substr(begin);
      if (rest.size() < kOpen.size() && kOpen.starts_with(rest)) return parts;
      if (!rest.starts_with(kOpen)) {
        state_ = State::kOutside;
        continue;
      }
      held_.erase(0, begin + kOpen.size());
      state_ = State::kInside;
      trims_ = true;
      continue;
    }
    if (state_ == State::kInside) {
      const std::size_t end = held_.find(kClose);
      if (end == std::string::npos) {
        const std::size_t kept = begun_mark(held_, kClose);
        release(held_.size() - kept, parts);
        return parts;
      }
      release(end, parts);
      held_.erase(0, kClose.size());
      state_ = State::kOutside;
      trims_ = true;
      continue;
    }
    release(held_.size(), parts);
    return parts;
  }
}

ReasoningSplitter::Parts ReasoningSplitter::finish() {
  Parts parts;
  if (state_ == State::kStart) state_ = State::kOutside;
  release(held_.size(), parts);
  return parts;
}

bool has_reasoning(std::string_view chat_template) {
  return chat_template.find(kClose) != std::string_view::npos;
}

bool opens_reasoning(std::string_view prompt) {
  const std::size_t end = prompt.find_last_not_of(kSpace);
  return end != std::string_view::npos && prompt.substr(0, end + 1).ends_with(kOpen);
}

}  // namespace ingot
