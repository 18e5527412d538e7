// ReplyReader: splits a chat reply into reasoning, content and calls of tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "constraint/matcher.h"
#include "runtime/outcome.h"
#include "runtime/stop_text.h"
#include "text/chat/tools/reply_parser.h"
#include "text/chat/tools/tool_dialect.h"

namespace ingot {

/// How to read the replies to one request. Copies are cheap, and all choices share the contents.
struct ReplyFormat {
  std::shared_ptr<const ToolDialect> dialect{};
  ReplyBegin begin{};
  std::shared_ptr<const std::vector<Tool>> tools = std::make_shared<std::vector<Tool>>();
  bool has_format = false;  ///< whether the content has a format
  /// The grammars of both readings, if a reply is calls or content of a format; else null.
  std::shared_ptr<const MatcherGrammar> calls{}, content{};
  /// Stop strings that end the content, but no reasoning and no call. The engine does not know
  /// them.
  std::vector<std::string> stops{};
  bool include_stop = false;     ///< whether the content keeps the stop string
  std::int64_t min_tokens = 0;   ///< tokens before which no stop string counts
  bool hides_reasoning = false;  ///< whether the events leave out reasoning

  /// Returns whether replies can contain reasoning that the response shows.
  bool shows_reasoning() const { return begin.can_reason && !hides_reasoning; }
  /// Returns the tool with this name; null if there is none.
  const Tool* find_tool(std::string_view name) const;
};

/// Reads one reply, delta by delta.
class ReplyReader {
 public:
  explicit ReplyReader(const ReplyFormat& format);

  /// Adds a delta, and counts its tokens if they are reasoning. Does nothing after a stop string.
  void add(const Delta& delta);
  /// Ends the reply. Adds the text that was held back.
  void finish();
  /// Returns the events since the last call, in order. Adjacent texts of one kind are one event.
  std::vector<ReplyEvent> take() { return std::exchange(events_, {}); }

  /// Returns whether the reply can contain reasoning that the response shows.
  bool shows_reasoning() const { return shows_reasoning_; }
  /// Returns whether the last delta had reasoning or a reasoning tag.
  bool was_reasoning() const { return was_reasoning_; }
  std::int64_t reasoning_tokens() const { return reasoning_tokens_; }
  /// Returns the number of calls that have begun.
  std::size_t calls() const { return calls_; }
  /// Returns whether a call has begun and is not complete.
  bool is_in_call() const { return is_in_call_; }
  /// Returns whether a stop string ended the content: then the rest of the reply is dropped.
  bool has_stopped() const { return content_.stopped(); }
  /// Returns the index in ReplyFormat::stops of the stop string that ended the content; -1: none.
  std::int32_t stop() const { return content_.stop(); }
  /// Returns "stop" or "length"; "tool_calls" if the reply has calls and the model ended it behind
  /// a complete call. A reply that reached its limit is always "length". Call it after `finish`.
  std::string_view finish_reason(const Outcome& outcome) const;

 private:
  void accept_parts();
  void end_content();
  void push(ReplyEvent event);

  std::unique_ptr<ReplyParser> parser_;
  std::vector<ReplyEvent> parts_;  ///< events of the last delta; its memory is reused
  std::vector<std::string> stops_;
  StopEnd stop_end_;
  StopText content_;          ///< the content since the last call
  bool has_content_ = false;  ///< whether `content_` has text
  std::int64_t tokens_ = 0;
  std::int64_t min_tokens_ = 0;
  bool hides_reasoning_ = false;
  bool shows_reasoning_ = false;
  bool was_reasoning_ = false;
  bool is_in_call_ = false;
  std::size_t calls_ = 0;
  std::int64_t reasoning_tokens_ = 0;
  std::vector<ReplyEvent> events_;
};

/// Makes the id of a call: `prefix` and 24 random hexadecimal digits.
std::string new_call_id(std::string_view prefix = "call_");

}  // namespace ingot
