// RunningRequest: one request under way, from its first row to its outcome.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/executor.h"
#include "runtime/observe/step_trace.h"
#include "runtime/request.h"
#include "runtime/sampling/digest.h"
#include "runtime/sampling/sampler.h"
#include "runtime/sampling/token_counts.h"
#include "runtime/schedule/sequence.h"
#include "runtime/stop_text.h"
#include "runtime/stream.h"
#include "text/tokenizer/detokenizer.h"

namespace ingot {

/// A request as it was submitted, for as many continuations as it has channels.
struct Submission {
  std::uint64_t id = 0;  ///< of the first one; the others follow
  Request request;
  std::vector<std::shared_ptr<Channel>> channels;
  double time = 0;  ///< when it was submitted
};

/// Everything about one request that changes while it runs.
class RunningRequest {
 public:
  /// `tokenizer` may be null. The request has been checked, and its end_ids are complete. `time` is
  /// when it was submitted.
  RunningRequest(std::uint64_t id, Request request, std::shared_ptr<Channel> channel, double time,
                 KvCache& cache, const RequestLimits& limits, const Tokenizer* tokenizer);

  Sequence& sequence() { return sequence_; }
  const Sequence& sequence() const { return sequence_; }
  bool is_cancelled() const;
  /// When its reader cancelled it; kNever where it did not.
  double cancelled_at() const { return channel_->cancelled_at.load(); }
  /// Pauses the sequence while its reader's queue is full. One that gave way meanwhile goes on once
  /// half of the queue is read: it has to be computed again.
  void poll_reader(double now);
  /// Since when it is paused and its reader takes nothing; kNever where it is not paused.
  double paused_since() const { return paused_since_; }
  /// What errors call the limit on its end.
  std::string_view end_limit() const { return request_.end_limit; }
  /// Nothing is left to compute: no token is wanted, and every score and hidden state is there.
  bool is_done() const {
    return limit_ == 0 && sequence_.score_next >= sequence_.score_end &&
           sequence_.hidden_next >= sequence_.hidden_end;
  }

  /// The first time it is part of a step.
  void started(double now);
  void accept_score(const RowScore& score);
  /// A row of hidden states; one that is not finite ends the request.
  void accept_hidden(std::span<const float> row);
  /// A row of logits before anything changes it.
  void add_to_digest(std::span<const float> logits);
  /// Tokens whose log-probabilities go with each drawn one.
  std::size_t best_tokens() const {
    return static_cast<std::size_t>(std::max(0, request_.sampling.logprobs));
  }
  SampleRow row(std::span<float> logits) const;
  /// Hands a drawn token to the reader; returns the token that goes on the sequence, or -1 when
  /// this was the end.
  std::int32_t accept_token(Drawn&& drawn, double now);
  bool ended() const { return ended_; }
  /// Seconds between the last two tokens that were handed over; 0 after the first.
  double last_gap() const { return last_gap_; }
  /// Tokens that were handed over.
  std::int64_t generated() const { return generated_; }
  /// How many continuations of its prompt there are; of the first one.
  void set_choices(std::size_t choices) { choices_ = static_cast<std::int32_t>(choices); }
  /// What is told of it, with times after `origin`.
  RequestRecord record(double origin, double now) const;

  /// Ends it: what was not handed over stays with the engine. Allocates nothing.
  void finish(FinishReason reason, std::optional<Error> error = std::nullopt);
  /// Tells the reader of a request that has ended: what it held is free by then, and counted.
  void tell_end() {
    if (!channel_->deltas.is_closed()) channel_->close();
  }

 private:
  void want_hidden(std::int64_t hidden_size);
  std::int64_t tokens_min() const;
  void count_draw(double now);
  bool is_end(std::int32_t id) const;
  void replay_history();
  void add_text(std::int32_t id, std::string& text);
  void release_text(std::string_view more, std::string& text);
  void flush_text(std::string& text);
  void push(Delta&& delta);

  Request request_;  ///< its prompt is the sequence's
  std::shared_ptr<Channel> channel_;
  Sequence sequence_;
  std::int64_t prompt_tokens_ = 0;
  std::int32_t choices_ = 0;
  FinishReason finish_ = FinishReason::kCancelled;
  std::int64_t limit_ = 0;      ///< tokens to generate at most
  std::int64_t generated_ = 0;  ///< tokens handed over
  std::int64_t drawn_ = 0;      ///< tokens drawn, the one that ended the text included
  bool needs_counts_ = false;
  bool ended_ = false;
  TokenCounts counts_;
  std::optional<Digest> digest_;
  std::optional<Detokenizer> detokenizer_;
  StopText stop_;
  std::size_t replayed_bytes_ =
      0;  ///< of the next text: already delivered by the request that this one continues
  Outcome outcome_;
  double queued_ = 0;
  std::optional<double> started_;
  std::optional<double> first_token_;
  std::optional<double> since_;  ///< it was started, or drew its last token
  double last_gap_ = 0;
  double paused_since_ = kNever;
  std::size_t behind_ = 0;  ///< pieces that its reader had not taken at the last look
};

}  // namespace ingot
