// ReplyText: a reply in a chat, split into reasoning and content.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/stream.h"
#include "server/common/chat_prompt.h"
#include "text/chat/reasoning.h"

namespace ingot {

/// One reply, delta by delta.
class ReplyText {
 public:
  using Parts = ReasoningSplitter::Parts;

  explicit ReplyText(const ChatPrompt& prompt)
      : has_reasoning_(prompt.has_reasoning), splitter_(prompt.opens_reasoning) {}

  /// Adds a delta, and counts its tokens as reasoning where they are.
  void add(const Delta& delta);
  /// Adds the text that was held back, at the reply's end.
  void finish() { append(splitter_.finish()); }
  /// The text since the last call. Reasoning comes before all content.
  Parts take() { return std::exchange(parts_, {}); }

  /// Whether the model may reason at all.
  bool has_reasoning() const { return has_reasoning_; }
  /// Whether the last delta was reasoning, tags included.
  bool was_reasoning() const { return was_reasoning_; }
  std::int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  void append(const Parts& parts);

  bool has_reasoning_;
  bool was_reasoning_ = false;
  std::int64_t reasoning_tokens_ = 0;
  ReasoningSplitter splitter_;
  Parts parts_;
};

}  // namespace ingot
