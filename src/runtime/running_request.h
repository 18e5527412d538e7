// RunningRequest: one choice of a request under way, from its submission to its outcome.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/index.h"
#include "runtime/executor.h"
#include "runtime/observe/step_trace.h"
#include "runtime/request.h"
#include "runtime/sampling/digest.h"
#include "runtime/sampling/draw_rows.h"
#include "runtime/sampling/repeats.h"
#include "runtime/sampling/sampler.h"
#include "runtime/sampling/shared_sampling.h"
#include "runtime/sampling/token_counts.h"
#include "runtime/schedule/sequence.h"
#include "runtime/stop_text.h"
#include "runtime/stream.h"
#include "runtime/token_rules.h"
#include "text/tokenizer/detokenizer.h"

namespace ingot {

/// The state of one choice of a request, from its submission to its end.
class RunningRequest {
 public:
  /// `check_request` must have accepted `request`. The request's end_ids must include the model's
  /// end tokens, and `request.shared` must be there. `time` is the time of submission. `tokenizer`
  /// may be null. `repeats` is DRY's history of the prompt, `matcher` the result of
  /// `begin_matcher`.
  RunningRequest(std::uint64_t id, Request request, std::shared_ptr<Channel> channel, double time,
                 KvCache& cache, const RequestLimits& limits, const Tokenizer* tokenizer,
                 const std::optional<RepeatHistory>& repeats,
                 const std::optional<Matcher>& matcher);

  Sequence& sequence() { return sequence_; }
  const Sequence& sequence() const { return sequence_; }
  /// Returns the request's live sequence; null if it has none.
  const std::shared_ptr<const LiveToken>& live() const { return request_.live; }
  /// Returns whether the request's rows may stay in the KV cache after its end.
  bool may_rest() const { return request_.live != nullptr && finish_ != FinishReason::kError; }
  const SamplingParams& sampling() const { return request_.sampling; }
  const RequestSpeculation& speculation() const { return request_.speculation; }
  /// Returns the expected tokens: see Request::prediction.
  std::span<const std::int32_t> prediction() const { return request_.prediction; }
  bool has_prediction() const { return !request_.prediction.empty(); }
  /// Says whether the sequence's next drafts are of `prediction`, for the outcome's counts.
  void set_drafts_prediction(bool is_prediction) { drafts_prediction_ = is_prediction; }
  /// Writes the tokens that must come next: see TokenRules::forced_run.
  std::int64_t forced_run(std::span<std::int32_t> ids) noexcept { return rules_.forced_run(ids); }
  /// Returns whether `forced_run` may find tokens.
  bool may_force() const { return rules_.may_force(); }
  /// Returns whether requests of the same domain may share what they have computed.
  bool shares_domain() const { return sequence_.reads_cache; }
  /// Returns the number of the sequence's first tokens that the request gave.
  std::int64_t prompt_tokens() const { return prompt_tokens_; }
  /// Drops the reference to the live sequence, whose owner may end it.
  void leave_live() { request_.live.reset(); }
  bool is_cancelled() const;
  /// Returns the time at which the reader cancelled the request; kNever if it was not cancelled.
  double cancelled_at() const { return channel_->cancelled_at.load(); }
  /// Pauses the sequence if the reader's queue is full, else resumes the sequence. A preempted
  /// sequence resumes only once the queue is half empty, because its rows must be computed again.
  void poll_reader(double now);
  /// Returns when the pause began or the reader last took deltas during it; kNever if not paused.
  double paused_since() const { return paused_since_; }
  /// Returns the name of the parameter that limits the time to the request's end, for errors.
  std::string_view end_limit() const { return request_.end_limit; }
  /// Returns that limit, and how much of it had passed before the submission.
  double end_seconds() const { return request_.end_seconds; }
  double elapsed_seconds() const { return request_.elapsed_seconds; }
  /// Returns whether the request draws no tokens and already has all its scores, hidden states and
  /// its pooled result. Then it ends with `done_reason`.
  bool is_done() const {
    return limit_ == 0 && sequence_.score_next >= sequence_.score_end &&
           sequence_.hidden_next >= sequence_.hidden_end && !sequence_.pools;
  }

  FinishReason done_reason() const {
    return rules_.is_over() ? FinishReason::kStop : FinishReason::kLength;
  }

  /// Records that a step has rows of this request. The first call sets the request's start time.
  void started(double now);
  /// Records how much of the prompt has keys and values. Call it after each commit.
  void note_computed() { ready_ = std::max(ready_, std::min(prompt_tokens_, sequence_.computed)); }
  void accept_score(const RowScore& score);
  /// Adds a row of hidden states to the outcome. Ends the request if a value is not finite.
  void accept_hidden(std::span<const float> row);
  /// Sets the outcome's pooled result. Ends the request if a value is not finite.
  void accept_pooled(std::span<const float> row);
  /// Adds a row of logits to the digest. Call it before sampling changes the row.
  void add_to_digest(std::span<const float> logits);
  /// Returns the number of likeliest tokens to report with each drawn token.
  std::size_t best_tokens() const { return to_size(std::max(0, request_.sampling.logprobs)); }
  /// Returns whether `choose` has anything to do.
  bool must_choose() const { return !ended() && rules_.must_choose(); }
  /// Finds which tokens may come next. Call it before `row`, when all earlier tokens are accepted.
  /// Any thread may call it, one at a time. Errors: std::bad_alloc.
  void choose();
  /// Returns how to draw the next token from `logits`.
  SampleRow row(std::span<float> logits) const;
  /// Returns how the runner draws from the sequence's row `draft` of logits in a planned step: row
  /// 0 gives the last pending token, row i the token after i accepted drafts. `params` are null if
  /// the host draws from the row.
  SampleRow row_ahead(std::int32_t draft) const;
  /// Tells the request whether the runner draws tokens. Call it before the first step.
  void set_runner_draws(bool runner_draws) {
    draws_on_device_ = runner_draws && !digest_ && can_draw_on_device(row({}));
    allow_drawing_ahead();
  }
  /// Delivers a drawn token to the reader. `is_draft`: whether the token equals its draft. Returns
  /// the token to append to the sequence, or -1 if the request ended.
  std::int32_t accept_token(Drawn&& drawn, bool is_draft, double now);
  /// Counts drafts whose rows a step has computed. Call it before their tokens are accepted.
  void note_drafts(std::int32_t drafts);
  bool ended() const { return finish_.has_value(); }
  /// Returns the seconds between the last two delivered tokens; 0 after the first token.
  double last_gap() const { return last_gap_; }
  /// Returns the number of delivered tokens.
  std::int64_t generated() const { return generated_; }
  /// Sets the number of choices of the prompt, for `record`. Call it only on the first choice.
  void set_choices(std::size_t choices) { choices_ = static_cast<std::int32_t>(choices); }
  /// Makes the request's record for observers, with times in seconds since `origin`.
  RequestRecord record(double origin, double now) const;

  /// Ends the request. Does not deliver text that was held back. Allocates nothing.
  void finish(FinishReason reason, std::optional<Error> error = std::nullopt);
  /// Tells the reader that the request has ended. Call it after the request's blocks are released.
  void tell_end() {
    if (!channel_->deltas.is_closed()) channel_->close();
  }

 private:
  void accept_values(std::span<const float> row, std::string_view name, std::vector<float>& to);
  void want_hidden(std::int64_t hidden_size);
  void want_pooled(const RequestLimits& limits);
  /// Returns the prompt tokens that steps computed. A preemption does not lower the number.
  std::int64_t computed_tokens() const {
    return std::max<std::int64_t>(0, ready_ - sequence_.cached);
  }
  std::int64_t tokens_min() const;
  void count_draw(double now);
  /// Lets later steps continue undrawn tokens, once what may come next depends on no token.
  void allow_drawing_ahead() {
    sequence_.draws_ahead = draws_on_device_ && !rules_.needs_last_token();
  }
  /// Returns whether min_tokens tokens are drawn, so that a stop string may end the text.
  bool may_stop() const { return request_.continued + generated_ >= request_.sampling.min_tokens; }
  /// Returns the stop strings that apply.
  std::span<const std::string> stops() const;
  StopEnd stop_end() const;
  void replay_history();
  void add_to_history(const Drawn& drawn);
  void add_text(std::int32_t id, std::string& text);
  void release_text(std::string_view more, std::string& text);
  void flush_text(std::string& text);
  void push(Delta&& delta);

  Request request_;   ///< the request without its prompt: `sequence_` has the tokens
  TokenRules rules_;  ///< uses `request_`
  bool draws_on_device_ = false;
  bool drafts_prediction_ = false;  ///< whether the sequence's drafts are of Request::prediction
  std::shared_ptr<Channel> channel_;
  Sequence sequence_;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t ready_ = 0;  ///< largest number of prompt tokens that had keys and values so far
  std::int32_t choices_ = 0;
  std::optional<FinishReason> finish_;
  std::int64_t limit_ = 0;      ///< limit on the tokens to generate
  std::int64_t generated_ = 0;  ///< number of delivered tokens
  std::int64_t drawn_ = 0;      ///< number of drawn tokens, including an end token
  bool needs_counts_ = false;
  TokenCounts counts_;
  std::optional<RepeatHistory> repeats_;  ///< present if DRY acts
  std::vector<std::int32_t> drawn_ids_;   ///< all drawn tokens, if there are bad words
  double surprise_max_ = 0;               ///< mirostat's limit on a token's surprise, in bits
  std::optional<Digest> digest_;
  std::optional<Detokenizer> detokenizer_;
  StopText stop_;
  std::size_t replayed_bytes_ = 0;  ///< bytes of text to skip, which an earlier request delivered
  Outcome outcome_;
  double queued_ = 0;
  std::optional<double> started_;
  std::optional<double> first_token_;
  std::optional<double> since_;  ///< time of the last drawn token; before the first, of the start
  double last_gap_ = 0;
  double paused_since_ = kNever;
  std::size_t behind_ = 0;  ///< number of deltas in the reader's queue at the last poll
};

/// All choices under way, by id.
using RunningRequests = std::map<std::uint64_t, std::unique_ptr<RunningRequest>>;

}  // namespace ingot
