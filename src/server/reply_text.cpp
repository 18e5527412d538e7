// Splitting replies.
#include "server/reply_text.h"

namespace ingot {

void ReplyText::add(Delta& delta) {
  const std::string text = std::exchange(delta.text, {});
  if (!has_reasoning_) {
    parts_.content += text;
    return;
  }
  const bool was_inside = splitter_.is_inside();
  append(splitter_.add(text));
  was_reasoning_ = was_inside || splitter_.is_inside();
  if (was_reasoning_) reasoning_tokens_ += std::ssize(delta.ids);
}

void ReplyText::append(const Parts& parts) {
  parts_.reasoning += parts.reasoning;
  parts_.content += parts.content;
}

}  // namespace ingot
