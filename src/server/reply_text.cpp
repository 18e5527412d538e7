// Splitting replies.
#include "server/reply_text.h"

#include <utility>

namespace ingot {

ReplyText::Parts ReplyText::add(Delta& delta) {
  if (!has_reasoning_) return {.reasoning = {}, .content = std::exchange(delta.text, {})};
  const bool was_inside = splitter_.is_inside();
  Parts parts = splitter_.add(delta.text);
  was_reasoning_ = was_inside || splitter_.is_inside();
  if (was_reasoning_) reasoning_tokens_ += std::ssize(delta.ids);
  return parts;
}

}  // namespace ingot
