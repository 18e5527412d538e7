// Continuation: one request under way, from its first row to its outcome.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/digest.h"
#include "runtime/executor.h"
#include "runtime/request.h"
#include "runtime/sampler.h"
#include "runtime/sequence.h"
#include "runtime/stop_text.h"
#include "runtime/stream.h"
#include "runtime/token_counts.h"
#include "text/detokenizer.h"

namespace ingot {

/// A request as it was submitted.
struct Submission {
  std::uint64_t id = 0;
  Request request;
  std::shared_ptr<Channel> channel;
};

using Clock = std::chrono::steady_clock;

/// Everything about one request that changes while it runs.
class Continuation {
 public:
  /// `tokenizer` may be null. The request has been checked, and its end_ids are complete.
  Continuation(Submission submission, KvCache& cache, const RequestLimits& limits,
               const Tokenizer* tokenizer);

  Sequence& sequence() { return sequence_; }
  bool is_cancelled() const { return channel_->cancelled.load(std::memory_order_relaxed); }
  /// Whether the reader's queue has no room for a piece.
  bool is_behind() const { return channel_->deltas.size() >= channel_->deltas.capacity(); }
  /// Nothing is left to compute: no token is wanted, and every score and hidden state is there.
  bool is_done() const {
    return limit_ == 0 && sequence_.scored >= sequence_.scores_end &&
           sequence_.shown >= sequence_.shown_end;
  }

  /// The first time it is part of a step.
  void started(Clock::time_point now);
  void take_score(const RowScore& score);
  /// A row of hidden states; one that is not finite ends the request.
  void take_hidden(std::span<const float> row);
  /// A row of logits before anything changes it.
  void take_logits(std::span<const float> logits);
  /// Tokens whose log-probabilities go with each drawn one.
  std::size_t best_tokens() const {
    return static_cast<std::size_t>(std::max(0, request_.sampling.logprobs));
  }
  SampleRow row(std::span<float> logits) const;
  /// Hands a drawn token to the reader; returns the token that goes on the sequence, or -1 when
  /// this was the end.
  std::int32_t take(Drawn&& drawn, Clock::time_point now);
  bool ended() const { return ended_; }
  /// Whether it ended with an error.
  bool failed() const { return ended_ && channel_->outcome.finish == FinishReason::kError; }

  /// Ends it: what was not handed over stays with the engine. Allocates nothing.
  void finish(FinishReason reason, std::optional<Error> error = std::nullopt);

 private:
  void want_hidden(std::int64_t hidden_size);
  void count_draw(Clock::time_point now);
  bool is_end(std::int32_t id) const;
  void add_text(std::int32_t id, std::string& text);
  void flush_text(std::string& text);
  void push(Delta&& delta);

  Request request_;
  std::shared_ptr<Channel> channel_;
  Sequence sequence_;
  std::int64_t limit_ = 0;      ///< tokens to generate at most
  std::int64_t generated_ = 0;  ///< tokens handed over
  std::int64_t drawn_ = 0;      ///< tokens drawn, the one that ended the text included
  bool needs_counts_ = false;
  bool ended_ = false;
  TokenCounts counts_;
  std::optional<Digest> digest_;
  std::optional<Detokenizer> detokenizer_;
  StopText stop_;
  Outcome outcome_;
  std::optional<Clock::time_point> since_;
};

}  // namespace ingot
