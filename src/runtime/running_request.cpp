// RunningRequest: turns drawn tokens into text and deltas, applies stop strings, makes the outcome.
#include "runtime/running_request.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "base/text.h"
#include "constraint/constraint.h"
#include "kv/mutant.h"

namespace ingot {

namespace {

bool has_penalty(const SamplingParams& p) {
  return p.repetition_penalty != 1 || p.presence_penalty != 0 || p.frequency_penalty != 0;
}

Error no_token(std::int64_t tokens) {
  return {ErrorCode::kNotFinite,
          cat("the logits after ", tokens,
              " tokens allow no token: they hold NaN or infinities (`check_tensors` tells whether "
              "the file's weights do)")};
}

/// The error if masks and biases exclude every token. Its message begins with a field's name.
Error all_excluded(std::int64_t tokens, const Request& r) {
  const std::string_view first = !r.shared->allowed.empty()       ? "allowed_token_ids"
                                 : !r.sampling.logit_bias.empty() ? "logit_bias"
                                 : !r.shared->bad_words.empty()   ? "bad_words"
                                                                  : "min_tokens";
  return {ErrorCode::kInvalid,
          cat(first, ": no token is left after ", tokens,
              " tokens, because logit_bias, min_tokens, bad_words and allowed_token_ids exclude "
              "all: exclude fewer")};
}

Error not_allowed(std::int32_t id, std::int64_t tokens) {
  return {ErrorCode::kInternal,
          cat("the constraint refuses token ", id, " after ", tokens, " tokens, but allowed it")};
}

}  // namespace

RunningRequest::RunningRequest(std::uint64_t id, Request request, std::shared_ptr<Channel> channel,
                               double time, KvCache& cache, const RequestLimits& limits,
                               const Tokenizer* tokenizer,
                               const std::optional<RepeatHistory>& repeats,
                               const std::optional<Matcher>& matcher)
    : request_(std::move(request)),
      rules_(request_, matcher),
      channel_(std::move(channel)),
      sequence_(cache),
      needs_counts_(has_penalty(request_.sampling)),
      repeats_(repeats),
      surprise_max_(2 * static_cast<double>(request_.sampling.mirostat_tau)),
      stop_(stops(), stop_end()),
      queued_(time) {
  sequence_.id = id;
  sequence_.request = this;
  const std::int64_t adapter_from = first_adapted_row(request_);
  sequence_.tokens = std::move(request_.prompt);
  sequence_.types = std::move(request_.types);
  for (const EmbeddingRows& e : request_.embeddings) {
    // A View has no const form. Steps only read embeddings.
    sequence_.given.push_back(
        {.first = e.first, .rows = f32_view(const_cast<float*>(e.values.get()), e.rows, e.cols)});
  }
  outcome_.prompt_tokens = prompt_tokens_ = sequence_.length();
  limit_ =
      rules_.is_over() ? 0 : std::min(request_.max_tokens, limits.context - sequence_.length());
  sequence_.draws = limit_ > 0;
  // Reserved here, because running out of memory here ends only this request.
  sequence_.tokens.reserve(sequence_.tokens.size() + to_size(std::max<std::int64_t>(0, limit_)));
  sequence_.drafts.reserve(to_size(kDraftsMax));
  sequence_.rows_max = sequence_.length() + std::max<std::int64_t>(0, limit_ - 1);
  sequence_.adapters = std::move(request_.adapters);
  if (INGOT_MUTANT(31)) sequence_.adapters = {std::shared_ptr<void>(), sequence_.adapters.get()};
  sequence_.prefix = {.domain = request_.domain,
                      .adapter = number_of(sequence_.adapters),
                      .adapter_from = adapter_from,
                      .tenant = request_.tenant};
  sequence_.chat_template = request_.chat_template;
  sequence_.whole = is_whole(request_, limits);
  sequence_.reads_cache = request_.reads_cache && !sequence_.whole;
  sequence_.terms = {.tenant = request_.tenant,
                     .priority = request_.priority,
                     .arrival = time,
                     .begin_by = time + request_.queue_seconds,
                     .first_token_by = time + request_.first_token_seconds,
                     .end_by = time + request_.end_seconds - request_.elapsed_seconds,
                     .tokens_min = tokens_min()};
  if (request_.prompt_logprobs >= 0) {
    sequence_.score_end = sequence_.length() - 1;
    sequence_.score_next = std::max<std::int64_t>(0, request_.prompt_logprobs_from - 1);
  }
  want_hidden(limits.hidden);
  want_pooled(limits);
  if (request_.digest) digest_.emplace();
  if (tokenizer != nullptr) {
    // The text continues the prompt, so its leading space is kept.
    detokenizer_.emplace(
        *tokenizer, DetokenizeOptions{.strip_leading_space = false, .markers = request_.markers});
  }
  if (repeats_) repeats_->reserve(sequence_.tokens.capacity());
  replay_history();
}

/// Feeds the prompt to counts, detokenizer and stop strings. An earlier request drew the prompt's
/// last `continued` tokens and delivered all their text, even text that could begin a stop string.
void RunningRequest::replay_history() {
  const std::span<const std::int32_t> prompt = sequence_.tokens;
  const auto drawn = prompt.last(to_size(request_.continued));
  if (needs_counts_) {
    for (const std::int32_t id : prompt.first(prompt.size() - drawn.size())) {
      if (id != kGivenRow) counts_.add_prompt(id);
    }
    for (const std::int32_t id : drawn) counts_.add_generated(id);
  }
  if (!request_.shared->bad_words.empty()) {
    drawn_ids_.reserve(drawn.size() + to_size(std::max<std::int64_t>(0, limit_)));
    drawn_ids_.assign(drawn.begin(), drawn.end());
  }
  if (!detokenizer_) return;
  std::int64_t tokens = 0;
  for (const std::int32_t id : drawn) {
    std::string piece;
    detokenizer_->push(id, piece);
    rules_.add_text(id, piece);
    replayed_bytes_ += piece.size();
    replayed_bytes_ -= stop_.add(piece, ++tokens >= request_.sampling.min_tokens).size();
  }
  if (!stop_.stopped()) return;
  stop_ = StopText(stops(), stop_end());
  replayed_bytes_ = 0;
}

/// Sets which rows give hidden states. Reserves memory for them, so that steps allocate none.
void RunningRequest::want_hidden(std::int64_t hidden_size) {
  if (request_.hidden == HiddenRows::kNone) return;
  sequence_.final_norm = request_.final_norm;
  sequence_.hidden_end = sequence_.length();
  sequence_.hidden_next = request_.hidden == HiddenRows::kAll ? 0 : sequence_.hidden_end - 1;
  if (request_.hidden == HiddenRows::kRange) {
    sequence_.hidden_next = request_.hidden_range.first;
    sequence_.hidden_end = request_.hidden_range.end;
  }
  const std::int64_t rows = sequence_.hidden_end - sequence_.hidden_next;
  outcome_.hidden.reserve(to_size(rows * hidden_size));
}

/// Reserves memory for the pooled result, so that steps allocate none.
void RunningRequest::want_pooled(const RequestLimits& limits) {
  if (!request_.pooled) return;
  sequence_.pools = true;
  outcome_.pooled.reserve(to_size(limits.pooled));
}

/// The least number of tokens to draw: all up to the limit without end tokens and stop strings.
std::int64_t RunningRequest::tokens_min() const {
  if (request_.constraint != nullptr) return 1;
  const bool all = request_.sampling.end_ids.empty() && request_.stop.empty();
  return std::max<std::int64_t>(1,
                                all ? limit_ : request_.sampling.min_tokens - request_.continued);
}

bool RunningRequest::is_cancelled() const {
#ifdef INGOT_MUTANTS
  static thread_local bool any = false;
  if (INGOT_MUTANT(13)) return any = any || channel_->is_cancelled();
#endif
  return channel_->is_cancelled();
}

void RunningRequest::poll_reader(double now) {
  const std::size_t room = channel_->deltas.capacity();
  const bool gave_way = sequence_.paused && !sequence_.admitted;
  const std::size_t most = gave_way ? room / 2 : room - 1;
  const std::size_t behind = channel_->deltas.size();
  sequence_.paused = behind > most;
  sequence_.room = static_cast<std::int64_t>(room - behind);
  if (!sequence_.paused) {
    paused_since_ = kNever;
  } else if (paused_since_ == kNever || behind < behind_) {
    paused_since_ = now;
  }
  behind_ = behind;
}

void RunningRequest::started(double now) {
  if (started_) return;
  started_ = since_ = now;
  channel_->cached_tokens = sequence_.cached;
  channel_->has_started.store(true, std::memory_order_relaxed);
}

void RunningRequest::accept_score(const RowScore& score) {
  if (ended()) return;
  // -Inf is a valid score, of an impossible token.
  if (std::isnan(score.logprob)) return finish(FinishReason::kError, no_token(sequence_.computed));
  const auto wanted = static_cast<std::ptrdiff_t>(request_.prompt_logprobs);
  const auto end = score.top.begin() + std::min(wanted, std::ssize(score.top));
  outcome_.prompt_logprobs.push_back(
      {.token = {.id = score.id, .logprob = score.logprob}, .top = {score.top.begin(), end}});
}

void RunningRequest::accept_hidden(std::span<const float> row) {
  accept_values(row, "hidden states", outcome_.hidden);
}

void RunningRequest::accept_pooled(std::span<const float> row) {
  accept_values(row, "pooled results", outcome_.pooled);
}

/// Appends a row of results to `to`, for which memory is reserved.
void RunningRequest::accept_values(std::span<const float> row, std::string_view name,
                                   std::vector<float>& to) {
  if (ended()) return;
  if (std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) {
    to.insert(to.end(), row.begin(), row.end());
    return;
  }
  finish(FinishReason::kError,
         Error(ErrorCode::kNotFinite, cat("the ", name, " hold NaN or infinities")));
}

void RunningRequest::add_to_digest(std::span<const float> logits) {
  if (digest_) digest_->add(logits);
}

void RunningRequest::choose() {
  if (INGOT_MUTANT(16) && sequence_.preemptions > 0 && request_.constraint != nullptr) {
    rules_ = TokenRules(request_, Matcher(request_.constraint->grammar));
  }
  rules_.choose(static_cast<std::uint64_t>(request_.continued + generated_));
}

SampleRow RunningRequest::row(std::span<float> logits) const {
  return {.logits = logits,
          .params = &request_.sampling,
          .counts = needs_counts_ ? &counts_ : nullptr,
          .repeats = repeats_ ? &*repeats_ : nullptr,
          .bad_words = request_.shared->bad_words,
          .allowed = request_.shared->allowed,
          .drawn = drawn_ids_,
          .mask = rules_.mask(),
          .forced = rules_.forced(),
          .surprise_max = surprise_max_,
          .index = static_cast<std::uint64_t>(request_.continued + generated_)};
}

SampleRow RunningRequest::row_ahead(std::int32_t draft) const {
  // The tokens that may follow a draft of a constrained text are known once it is accepted.
  if (!draws_on_device_ || (draft > 0 && rules_.needs_last_token())) return {};
  SampleRow ahead = row({});
  ahead.index += static_cast<std::uint64_t>(sequence_.pending - 1 + draft);
  return ahead;
}

void RunningRequest::note_drafts(std::int32_t drafts) {
  outcome_.drafts += drafts;
  if (drafts_prediction_) outcome_.predicted += drafts;
}

std::int32_t RunningRequest::accept_token(Drawn&& drawn, bool is_draft, double now) {
  if (ended()) return -1;
  count_draw(now);
  Delta delta;
  // Nothing may follow a complete text if no token can be drawn and no end token is there.
  if (drawn.excludes_all && request_.constraint != nullptr && rules_.is_complete()) {
    flush_text(delta.text);
    if (!delta.text.empty()) push(std::move(delta));
    finish(FinishReason::kStop);
    return -1;
  }
  if (drawn.id < 0) {
    const std::int64_t tokens = sequence_.length();
    finish(FinishReason::kError,
           drawn.excludes_all ? all_excluded(tokens, request_) : no_token(tokens));
    return -1;
  }
  if (rules_.ends_at(drawn.id)) {
    if (request_.include_stop) add_text(drawn.id, delta.text);
    flush_text(delta.text);
    if (!delta.text.empty()) push(std::move(delta));
    finish(FinishReason::kStop);
    return -1;
  }
  if (!rules_.accept(drawn.id)) {
    finish(FinishReason::kError, not_allowed(drawn.id, sequence_.length()));
    return -1;
  }
  ++generated_;
  if (is_draft) {
    ++outcome_.accepted_drafts;
    outcome_.accepted_predicted += drafts_prediction_ ? 1 : 0;
  }
  add_to_history(drawn);
  delta.ids.push_back(drawn.id);
  if (request_.sampling.logprobs >= 0) {
    delta.logprobs.push_back(
        {.token = {.id = drawn.id, .logprob = drawn.logprob}, .top = std::move(drawn.top)});
  }
  add_text(drawn.id, delta.text);
  const bool stopped = stop_.stopped();
  const bool full = generated_ == limit_, over = rules_.is_over();
  if ((full || over) && !stopped) flush_text(delta.text);
  push(std::move(delta));
  allow_drawing_ahead();
  if (!stopped && !full && !over) return drawn.id;
  finish(stop_.stopped() || over ? FinishReason::kStop : FinishReason::kLength);
  return -1;
}

/// Updates what later draws depend on. Mirostat lowers its limit after a surprise above the target.
void RunningRequest::add_to_history(const Drawn& drawn) {
  if (needs_counts_) counts_.add_generated(drawn.id);
  if (repeats_) repeats_->add(drawn.id);
  if (!request_.shared->bad_words.empty()) drawn_ids_.push_back(drawn.id);
  const SamplingParams& p = request_.sampling;
  if (p.mirostat == 0 || p.temperature == 0 || drawn.is_forced) return;
  surprise_max_ -=
      static_cast<double>(p.mirostat_eta) * (drawn.surprise - static_cast<double>(p.mirostat_tau));
}

void RunningRequest::count_draw(double now) {
  const double spent = now - *since_;
  since_ = now;
  last_gap_ = drawn_ == 0 ? 0 : spent;
  if (drawn_++ == 0) {
    first_token_ = now;
    ready_ = prompt_tokens_;
    outcome_.prefill_seconds = spent;
  } else {
    outcome_.decode_seconds += spent;
    ++outcome_.decode_steps;
  }
}

std::span<const std::string> RunningRequest::stops() const {
  if (request_.constraint != nullptr) return {};
  return request_.stop;
}

StopEnd RunningRequest::stop_end() const {
  return request_.include_stop ? StopEnd::kBehind : StopEnd::kBefore;
}

void RunningRequest::add_text(std::int32_t id, std::string& text) {
  if (!detokenizer_) return;
  std::string piece;
  detokenizer_->push(id, piece);
  rules_.add_text(id, piece);
  release_text(stop_.add(piece, may_stop()), text);
}

void RunningRequest::release_text(std::string_view more, std::string& text) {
  const std::size_t known = std::min(replayed_bytes_, more.size());
  replayed_bytes_ -= known;
  text += more.substr(known);
}

/// Delivers the text that was held back. If a stop string ends this text, drops the rest.
void RunningRequest::flush_text(std::string& text) {
  if (!detokenizer_) return;
  std::string piece;
  detokenizer_->finish(piece);
  if (INGOT_MUTANT(23)) return;
  release_text(stop_.add(piece, may_stop()), text);
  release_text(stop_.finish(), text);
}

void RunningRequest::push(Delta&& delta) {
  const bool pushed = channel_->push(std::move(delta));
  INGOT_CHECK(pushed, "a paused sequence was part of a step");
}

RequestRecord RunningRequest::record(double origin, double now) const {
  const auto after = [origin](const std::optional<double>& time) {
    return time ? std::optional(*time - origin) : std::nullopt;
  };
  return {.id = sequence_.id,
          .queued_seconds = queued_ - origin,
          .start_seconds = after(started_),
          .first_token_seconds = after(first_token_),
          .end_seconds = now - origin,
          .prompt_tokens = prompt_tokens_,
          .cached_tokens = sequence_.cached,
          .computed_tokens = computed_tokens(),
          .miss = sequence_.miss,
          .adapters = sequence_.adapters,
          .generated_tokens = generated_,
          .max_tokens = limit_,
          .choices = choices_,
          .reads_cache = sequence_.reads_cache,
          .finish = finish_};
}

void RunningRequest::finish(FinishReason reason, std::optional<Error> error) {
  finish_ = reason;
  if (reason == FinishReason::kLength && started_) ready_ = prompt_tokens_;
  outcome_.finish = reason;
  outcome_.stop = stop_.stop();
  outcome_.error = std::move(error);
  outcome_.generated_tokens = generated_;
  outcome_.is_first_choice = choices_ > 0;
  outcome_.cached_tokens = sequence_.cached;
  outcome_.computed_tokens = computed_tokens();
  outcome_.miss = sequence_.miss;
  outcome_.preemptions = sequence_.preemptions;
  if (started_) outcome_.queue_seconds = *started_ - queued_;
  if (digest_) outcome_.digest = digest_->value();
  channel_->outcome = std::move(outcome_);
}

}  // namespace ingot
