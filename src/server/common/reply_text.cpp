// ReplyText: splits a reply at its reasoning tags.
#include "server/common/reply_text.h"

namespace ingot {

void ReplyText::add(const Delta& delta) {
  if (!has_reasoning_) {
    parts_.content += delta.text;
    return;
  }
  const bool was_inside = splitter_.is_inside();
  append(splitter_.add(delta.text));
  was_reasoning_ = was_inside || splitter_.is_inside();
  if (was_reasoning_) reasoning_tokens_ += std::ssize(delta.ids);
}

void ReplyText::append(const Parts& parts) {
  parts_.reasoning += parts.reasoning;
  parts_.content += parts.content;
}

}  // namespace ingot
