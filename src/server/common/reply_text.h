// ReplyText: splits a chat reply into reasoning and content.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/stream.h"
#include "server/common/chat_prompt.h"
#include "text/chat/reasoning.h"

namespace ingot {

/// Splits the text of one reply, as its deltas arrive, into reasoning and content.
class ReplyText {
 public:
  using Parts = ReasoningSplitter::Parts;

  explicit ReplyText(const ChatPrompt& prompt)
      : has_reasoning_(prompt.has_reasoning), splitter_(prompt.opens_reasoning) {}

  /// Adds a delta, and counts its tokens if they are reasoning.
  void add(const Delta& delta);
  /// Ends the reply. Adds the text that was held back as the possible beginning of a tag.
  void finish() { append(splitter_.finish()); }
  /// Returns the text added since the last call. All reasoning comes before the content.
  Parts take() { return std::exchange(parts_, {}); }

  /// Returns whether the reply can contain reasoning.
  bool has_reasoning() const { return has_reasoning_; }
  /// Returns whether the last delta had reasoning or a reasoning tag.
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
