// ScoredReader: counts the bytes of tokens to tell those of content from those of marks.
#include "server/openai/message_logprobs.h"

#include <algorithm>
#include <utility>

namespace ingot {

namespace {

using Kind = ReplyEvent::Kind;

std::size_t bytes_of(const Json& entry) {
  const Json* bytes = entry.find("bytes");
  return bytes == nullptr || bytes->as_array() == nullptr ? 0 : bytes->as_array()->size();
}

}  // namespace

void ScoredReader::add(const Delta& delta) {
  if (reply_.has_stopped()) return;
  reply_.add(delta);
  if (entry_) {
    for (const TokenLogprobs& token : delta.logprobs) {
      Json entry = entry_(token);
      const std::size_t bytes = bytes_of(entry);
      waiting_.push_back({std::move(entry), bytes});
    }
  }
  if (reply_.was_reasoning()) is_behind_mark_ = true;
  accept();
  if (reply_.was_reasoning() || reply_.is_in_call()) waiting_.clear();
}

void ScoredReader::finish() {
  reply_.finish();
  accept();
}

void ScoredReader::accept() {
  std::vector<ReplyEvent> events = reply_.take();
  for (std::size_t i = 0; i < events.size(); ++i) {
    Json logprobs = Json::array();
    if (events[i].kind == Kind::kContent) {
      logprobs = bind(events[i].text.size(), i + 1 < events.size());
      is_behind_mark_ = false;
    } else {
      is_behind_mark_ = true;
    }
    push(std::move(events[i]), std::move(logprobs));
  }
}

/// Takes the waiting tokens of a content of this many bytes. If a call follows, its mark is among
/// the tokens behind the content. Behind a call, its mark is among the tokens before the content.
Json ScoredReader::bind(std::size_t bytes, bool ends_content) {
  const std::size_t count = waiting_.size();
  std::size_t first = 0;
  std::size_t end = count;
  std::size_t covered = 0;
  if (ends_content && !is_behind_mark_) {
    for (end = 0; end < count && covered < bytes; ++end) covered += waiting_[end].bytes;
  } else if (is_behind_mark_) {
    for (first = count; first > 0 && covered < bytes; --first) covered += waiting_[first - 1].bytes;
  }
  Json logprobs = Json::array();
  for (std::size_t i = first; i < end; ++i) logprobs.push(std::move(waiting_[i].entry));
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(end));
  return logprobs;
}

void ScoredReader::push(ReplyEvent event, Json logprobs) {
  const bool is_text = event.kind != Kind::kCallBegin && event.kind != Kind::kCallEnd;
  const bool continues = is_text && !events_.empty() && events_.back().event.kind == event.kind &&
                         events_.back().event.call == event.call;
  if (!continues) {
    events_.push_back({std::move(event), std::move(logprobs)});
    return;
  }
  events_.back().event.text += event.text;
  for (const Json& entry : *logprobs.as_array()) events_.back().logprobs.push(entry);
}

Json ScoredReader::take_rest() {
  Json rest = Json::array();
  if (!is_behind_mark_) {
    for (Waiting& token : waiting_) rest.push(std::move(token.entry));
  }
  waiting_.clear();
  return rest;
}

}  // namespace ingot
