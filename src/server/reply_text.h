// ReplyText: what a model writes in a chat, split into what it reasons and what it says.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/stream.h"
#include "server/openai/chat_prompt.h"
#include "text/reasoning.h"

namespace ingot {

/// One reply, piece by piece.
class ReplyText {
 public:
  using Parts = ReasoningSplitter::Parts;

  explicit ReplyText(const ChatPrompt& prompt)
      : has_reasoning_(prompt.has_reasoning), splitter_(prompt.opens_reasoning) {}

  /// What a piece adds; its text is used up. Tokens that are reasoning are counted as such.
  Parts add(Delta& delta);
  /// The rest, at the reply's end.
  Parts finish() { return splitter_.finish(); }

  /// Whether the model may reason at all.
  bool has_reasoning() const { return has_reasoning_; }
  /// Whether the last piece was reasoning, tags included.
  bool was_reasoning() const { return was_reasoning_; }
  std::int64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  bool has_reasoning_;
  bool was_reasoning_ = false;
  std::int64_t reasoning_tokens_ = 0;
  ReasoningSplitter splitter_;
};

}  // namespace ingot
