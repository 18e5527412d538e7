// StreamWriter: packs deltas into events, and frames the events.
#include "server/http/stream_writer.h"

#include <algorithm>
#include <new>

#include "base/error.h"

namespace ingot {

namespace {

/// Bytes of events after which one write takes no more; the rest waits for the next write.
constexpr std::size_t kWriteBytes = 64 << 10;
/// Bytes of deltas after which one event takes no more.
constexpr std::size_t kEventBytes = 16 << 10;

/// Estimated bytes of an event that a delta takes.
std::size_t bytes_of(const Delta& delta) {
  constexpr std::size_t kScoreBytes = 100;
  std::size_t scores = 0;
  for (const TokenLogprobs& t : delta.logprobs) scores += 1 + t.top.size();
  return delta.text.size() + 8 * delta.ids.size() + kScoreBytes * scores;
}

}  // namespace

bool StreamWriter::collect() {
  bool any = false;
  const std::size_t left_before = left_;
  for (std::size_t i = 0; i < running_.streams.size() && failed_ == nullptr; ++i) {
    if (has_ended_[i]) continue;
    Stream& stream = running_.streams[i];
    // Another event follows only a full one. Deltas that arrive while an event is written wait for
    // the next round; otherwise a slow machine would send an event for every token.
    for (Taken taken = Taken::kFull; events_.size() < kWriteBytes && taken == Taken::kFull;) {
      taken = take_deltas(i);
      if (taken == Taken::kNothing) break;
      any = true;
      if (running_.stream) running_.writer->flush(i, events_);
    }
    if (stream.finished()) {
      end_choice(i, stream.outcome());
      any = true;
    }
  }
  if (left_ < left_before && failed_ == nullptr && running_.later_choices > 0) begin_later();
  return any;
}

void StreamWriter::begin_later() {
  try {
    running_.begin_later(left_ - running_.later_choices);
    // The engine is stopping or has failed, and the generation has no choice under way.
    if (left_ == running_.later_choices) {
      throw Error(ErrorCode::kUnavailable, "the server is being stopped");
    }
  } catch (const Error& error) {
    never_begun_.finish = FinishReason::kError;
    never_begun_.error = error;
    failed_ = &never_begun_;
  } catch (const std::bad_alloc&) {
    never_begun_.finish = FinishReason::kError;
    never_begun_.error = Error(ErrorCode::kDoesNotFit, "there is not enough memory");
    failed_ = &never_begun_;
  }
}

StreamWriter::Taken StreamWriter::take_deltas(std::size_t choice) {
  Taken taken = Taken::kNothing;
  for (std::size_t bytes = 0; bytes < kEventBytes; taken = Taken::kAll) {
    if (!running_.streams[choice].try_next(delta_)) return taken;
    bytes += bytes_of(delta_);
    if (running_.writer->wants_end(choice)) {
      dropped_[choice] += std::ssize(delta_.ids);
      continue;
    }
    running_.writer->add_delta(choice, delta_);
    if (running_.writer->wants_end(choice)) running_.streams[choice].cancel();
  }
  return Taken::kFull;
}

bool StreamWriter::drop_rest() {
  for (std::size_t i = 0; i < running_.streams.size(); ++i) {
    if (has_ended_[i]) continue;
    Stream& stream = running_.streams[i];
    while (stream.try_next(delta_)) continue;
    if (stream.finished()) count_end(i, stream.outcome());
  }
  return left_ == running_.later_choices;
}

void StreamWriter::count_end(std::size_t choice, const Outcome& outcome) {
  has_ended_[choice] = true;
  --left_;
  if (outcome.is_first_choice) {
    end_.prompt_tokens += outcome.prompt_tokens;
    end_.cached_tokens += outcome.cached_tokens;
  }
  end_.computed_tokens += outcome.computed_tokens;
  end_.generated_tokens += outcome.generated_tokens;
  if (choice == 0) end_.miss = outcome.miss;
  // The clocks of later choices start later than the request.
  if (outcome.generated_tokens == 0 || choice >= first_choices_) return;
  const double seconds = outcome.queue_seconds + outcome.prefill_seconds;
  end_.first_token_seconds = std::min(end_.first_token_seconds.value_or(seconds), seconds);
}

void StreamWriter::end_choice(std::size_t choice, const Outcome& outcome) {
  count_end(choice, outcome);
  if (running_.writer->wants_end(choice)) {
    Outcome ended = outcome;
    ended.finish = FinishReason::kStop;
    ended.generated_tokens -= dropped_[choice];
    running_.writer->end_choice(choice, ended, events_);
  } else if (outcome.finish == FinishReason::kError || outcome.finish == FinishReason::kCancelled) {
    failed_ = &outcome;
  } else {
    running_.writer->end_choice(choice, outcome, events_);
  }
}

std::string StreamWriter::take(bool is_last) {
  has_begun_ = true;
  end_.status = 200;
  end_.response.add(events_, content_bytes_max_);
  std::string bytes = std::exchange(head_, {});
  if (!events_.empty()) bytes += is_chunked_ ? http_chunk(events_) : events_;
  if (is_last && is_chunked_) bytes += http_chunk({});
  events_.clear();
  return bytes;
}

}  // namespace ingot
