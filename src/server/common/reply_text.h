// ReplyText: what a model writes in a chat, split into what it reasons and what it says.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/stream.h"
#include "server/common/chat_prompt.h"
#include "text/chat/reasoning.h"

namespace ingot {

/// One reply, piece by piece.
class ReplyText {
 public:
  using Parts = ReasoningSplitter::Parts;

  explicit ReplyText(const ChatPrompt& prompt)
      : has_reasoning_(prompt.has_reasoning), splitter_(prompt.opens_reasoning) {}

  /// Takes in a piece. Tokens that are reasoning are counted as such.
  void add(const Delta& delta);
  /// Takes in what was held back, at the reply's end.
  void finish() { append(splitter_.finish()); }
  /// What came in since the last call. Reasoning stands in front of all that is said.
  Parts take() { return std::exchange(parts_, {}); }

  /// Whether the model may reason at all.
  bool has_reasoning() const { return has_reasoning_; }
  /// Whether the last piece was reasoning, tags included.
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
