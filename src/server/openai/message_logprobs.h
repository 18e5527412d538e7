// Binds the log-probabilities of tokens to the texts of messages, delta by delta.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "load/json.h"
#include "runtime/delta.h"
#include "server/common/reply_reader.h"

namespace ingot {

/// An event of a reply, with the log-probabilities of its tokens: an array, which only content has.
struct ScoredEvent {
  ReplyEvent event;
  Json logprobs = Json::array();
};

/// Reads one reply. Tokens belong to the content that comes with them, or after them if it was held
/// back. Tokens of reasoning and of calls, with the marks around them, belong to no content. The
/// result depends on the deltas alone, but not on when events are taken.
class ScoredReader {
 public:
  /// Makes a token's entry, with the member "bytes".
  using Entry = std::function<Json(const TokenLogprobs&)>;

  /// `entry` may be empty: then no event has log-probabilities.
  ScoredReader(const ReplyFormat& format, Entry entry) : reply_(format), entry_(std::move(entry)) {}

  void add(const Delta& delta);
  void finish();
  /// Returns the events since the last call, in order. Adjacent texts of one kind are one event.
  std::vector<ScoredEvent> take() { return std::exchange(events_, {}); }
  /// Returns the entries of tokens behind the last content, which have no text. Call it at the end.
  Json take_rest();

  const ReplyReader& reply() const { return reply_; }

 private:
  /// A token that has no content yet.
  struct Waiting {
    Json entry;
    std::size_t bytes = 0;
  };

  void accept();
  Json bind(std::size_t bytes, bool ends_content);
  void push(ReplyEvent event, Json logprobs);

  ReplyReader reply_;
  Entry entry_;
  std::vector<ScoredEvent> events_;
  std::vector<Waiting> waiting_;
  bool is_behind_mark_ = false;  ///< no content has come since reasoning or a call
};

}  // namespace ingot
