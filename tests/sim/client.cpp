// Client: checks a request's deltas and outcome.
#include "sim/client.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

#include "base/error.h"
#include "sim/violation.h"

namespace ingot::sim {

namespace {

/// The number of the stop string that ends a text, where all have one length; -1: none.
std::int32_t stop_at_end(std::string_view text, std::span<const std::string> stops) {
  const auto at = std::find_if(stops.begin(), stops.end(),
                               [&](const std::string& stop) { return text.ends_with(stop); });
  return at == stops.end() ? -1 : static_cast<std::int32_t>(at - stops.begin());
}

/// Whether a request's draws depend on its earlier tokens or on filters that a device lacks, or the
/// host hashes the logits.
bool needs_host(const Request& r) {
  const SamplingParams& p = r.sampling;
  const bool has_history = p.repetition_penalty != 1 || p.presence_penalty != 0 ||
                           p.frequency_penalty != 0 || p.dry_multiplier > 0 || p.mirostat != 0 ||
                           !p.bad_words.empty();
  const bool has_filters = p.top_n_sigma > 0 || p.typical_p < 1 || p.xtc_probability > 0;
  return has_history || has_filters || r.digest;
}

/// Appends a prompt's rows: bits of embeddings, and ids.
void append_prompt(Job& job, const Request& r) {
  auto next = r.embeddings.begin();
  for (std::int64_t row = 0; row < std::ssize(r.prompt);) {
    if (next == r.embeddings.end() || row < next->first) {
      job.append(r.prompt[static_cast<std::size_t>(row++)]);
      continue;
    }
    if (job.embedding_rows == 0) job.token_rows = row;
    job.embedding_rows += next->rows;
    for (std::int64_t i = 0; i < next->rows; ++i) {
      job.append(std::bit_cast<std::int32_t>(next->values.get()[i]));
    }
    row = (next++)->end();
  }
  job.prompt_rows = job.length();
}

/// The prompt's rows whose hidden states a request wants.
RowRange hidden_rows(const Request& r) {
  const std::int64_t rows = std::ssize(r.prompt);
  switch (r.hidden) {
    case HiddenRows::kNone:
      return {};
    case HiddenRows::kLast:
      return {.first = rows - 1, .end = rows};
    case HiddenRows::kAll:
      return {.first = 0, .end = rows};
    case HiddenRows::kRange:
      return r.hidden_range;
  }
  return {};
}

}  // namespace

std::unique_ptr<Client> Client::make(const Request& r, std::uint32_t choice, std::int64_t context) {
  auto c = std::make_unique<Client>();
  Job& job = c->job;
  job.prefix = {.domain = r.domain,
                .adapter = number_of(r.adapters),
                .adapter_from = first_adapted_row(r),
                .tenant = r.tenant};
  job.choice = choice;
  job.seed = r.sampling.seed;
  job.needs_host = needs_host(r);
  job.min_tokens = r.sampling.min_tokens;
  job.ends = r.sampling.end_ids;
  if (!r.ignore_eos) job.ends.push_back(kEndOfText);
  job.rule = rule_of(r);
  job.reasoning = r.reasoning;
  append_prompt(job, r);
  c->limit = std::min(r.max_tokens, context - job.prompt_rows);
  if (r.prompt_logprobs >= 0) c->scores_from = std::max<std::int64_t>(1, r.prompt_logprobs_from);
  c->hidden = hidden_rows(r);
  c->is_pooled = r.pooled;
  c->is_live = r.live != nullptr;
  c->tenant = r.tenant;
  c->priority = r.priority;
  c->is_fork = choice > r.sampling.choice;
  c->reads_cache = r.reads_cache;
  c->uses_drafts = r.speculation.mode != SpeculationMode::kOff;
  c->has_deadline = std::min({r.queue_seconds, r.first_token_seconds, r.end_seconds}) < kNever;
  c->draw_text(r);
  return c;
}

/// Draws the whole text of a request alone.
void Client::draw_text(const Request& r) {
  for (std::int64_t tokens = 0; tokens < limit; ++tokens) {
    const std::int32_t id = job.draw(job.length() - 1, job.keys.back());
    finish = FinishReason::kStop;
    if (job.ends_at(tokens, id)) return;
    job.append(id);
    text_wanted += text_of(id);
    if (job.rule != nullptr && job.rule->is_over(tokens + 1)) return;
    const bool may_stop = tokens + 1 >= r.sampling.min_tokens && job.rule == nullptr;
    stop = may_stop ? stop_at_end(text_wanted, r.stop) : -1;
    if (stop >= 0) {
      text_wanted.resize(text_wanted.size() - r.stop.front().size());
      return;
    }
  }
  finish = FinishReason::kLength;
}

bool Client::read() {
  const auto delta = stream->try_next();
  if (!delta) return false;
  const std::int64_t row = job.prompt_rows + delivered;
  text += delta->text;
  // Text that the engine held back comes behind the last token if no stop string ends the text.
  const bool is_rest = delta->ids.empty() && !delta->text.empty() && row == job.length() &&
                       finish == FinishReason::kStop && stop < 0;
  if (is_rest) return true;
  SIM_EXPECT("I8", delta->ids.size() == 1, "request ", job.id, " gets ", delta->ids.size(),
             " tokens at once");
  SIM_EXPECT("I13", row < job.length() && delta->ids[0] == job.row(row), "request ", job.id,
             " gets token ", delta->ids[0], " as number ", delivered, " of ",
             job.length() - job.prompt_rows);
  const std::uint32_t fits = job.rule != nullptr ? job.rule->text_at(delivered) : ~std::uint32_t{0};
  SIM_EXPECT("I22", (fits >> delta->ids[0] & 1) != 0, "request ", job.id, " gets token ",
             delta->ids[0], " as number ", delivered, ", which its constraint does not allow");
  for (const TokenLogprobs& p : delta->logprobs) {
    SIM_EXPECT("I13", p.token.id == delta->ids[0], "request ", job.id, " gets another's score");
  }
  ++delivered;
  return true;
}

void Client::check_outcome(const Circumstances& around,
                           const std::vector<std::unique_ptr<Client>>& all) const {
  const Outcome& outcome = stream->outcome();
  check_reason(outcome, around);
  SIM_EXPECT("I10", outcome.preemptions <= around.preemptions_max, "request ", job.id, " gave way ",
             outcome.preemptions, " times");
  const bool was_taken_in = outcome.prompt_tokens > 0;
  SIM_EXPECT("I17", !was_taken_in || outcome.prompt_tokens == job.prompt_rows, "request ", job.id,
             " has ", outcome.prompt_tokens, " prompt tokens, not ", job.prompt_rows);
  SIM_EXPECT("I13", text_wanted.starts_with(text), "request ", job.id, " shows what it should not");
  SIM_EXPECT("I17", outcome.generated_tokens == delivered, "request ", job.id, " counts ",
             outcome.generated_tokens, " tokens and delivered ", delivered);
  check_drafts(outcome);
  check_cached(outcome, around, all);
}

void Client::check_drafts(const Outcome& o) const {
  SIM_EXPECT("I17",
             0 <= o.accepted_drafts && o.accepted_drafts <= o.drafts &&
                 o.accepted_drafts <= delivered && o.predicted <= o.drafts &&
                 o.accepted_predicted <= std::min(o.predicted, o.accepted_drafts),
             "request ", job.id, " accepts ", o.accepted_drafts, " of ", o.drafts, " drafts and ",
             o.accepted_predicted, " of ", o.predicted, " predicted tokens");
  SIM_EXPECT("I17", uses_drafts || o.drafts == 0, "request ", job.id, " has ", o.drafts,
             " drafts that it did not want");
}

void Client::check_reason(const Outcome& outcome, const Circumstances& around) const {
  switch (outcome.finish) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      SIM_EXPECT("I13", outcome.finish == finish && delivered == job.length() - job.prompt_rows,
                 "request ", job.id, " ended after ", delivered, " tokens of ",
                 job.length() - job.prompt_rows, " with ", to_string(outcome.finish));
      SIM_EXPECT("I13", !job.is_nan && !outcome.error, "request ", job.id, " hides an error");
      SIM_EXPECT("I22",
                 outcome.finish == FinishReason::kLength || job.rule == nullptr ||
                     job.rule->is_complete(delivered),
                 "request ", job.id, " ends with an incomplete text");
      SIM_EXPECT("I13", outcome.stop == stop && text == text_wanted, "request ", job.id,
                 " ends with ", text.size(), " characters of ", text_wanted.size(),
                 " and stop string ", outcome.stop, " in place of ", stop);
      return check_rows(outcome);
    case FinishReason::kCancelled:
      SIM_EXPECT("I13",
                 cancelled_at >= 0 || around.forced || ended_at - read_at >= around.stall_seconds,
                 "request ", job.id, " was cancelled without a cause");
      return;
    case FinishReason::kError:
      SIM_EXPECT("I8", outcome.error.has_value(), "request ", job.id, " has no error");
      return check_error(outcome, around);
  }
}

void Client::check_error(const Outcome& outcome, const Circumstances& around) const {
  const std::string& message = outcome.error->message();
  switch (outcome.error->code()) {
    case ErrorCode::kNotFinite:
      SIM_EXPECT("I13", job.is_nan, "request ", job.id, ": ", message);
      return;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      SIM_EXPECT("I13", has_deadline, "request ", job.id, ": ", message);
      return;
    case ErrorCode::kDoesNotFit:
      SIM_EXPECT("I13", around.refusals + around.losses > 0, "request ", job.id, ": ", message);
      return;
    default:
      SIM_EXPECT("I13", around.failed, "request ", job.id, ": ", message);
  }
}

/// Checks that another request that may share computed these rows before.
void Client::check_cached(const Outcome& outcome, const Circumstances& around,
                          const std::vector<std::unique_ptr<Client>>& all) const {
  const std::int64_t rows = outcome.cached_tokens;
  if (rows == 0) return;
  SIM_EXPECT("I17", rows > 0 && rows < job.prompt_rows, "request ", job.id, " had ", rows,
             " rows of ", job.prompt_rows);
  const bool may_hit = around.prefix_cache && reads_cache && rows <= job.token_rows;
  SIM_EXPECT("I17", is_fork || is_live || may_hit, "request ", job.id, " had ", rows,
             " cached rows without an owner");
  const bool found = std::any_of(all.begin(), all.end(), [&](const auto& other) {
    return other.get() != this && other->job.length() >= rows &&
           other->job.key(rows - 1) == job.key(rows - 1);
  });
  SIM_EXPECT("I6", found, "request ", job.id, " had ", rows,
             " cached rows that no request of its domain computed");
}

/// Checks that every wanted score and hidden state came once, in order.
void Client::check_rows(const Outcome& outcome) const {
  const std::int64_t scores = scores_from < 0 ? 0 : job.prompt_rows - scores_from;
  const auto& scored = outcome.prompt_logprobs;
  SIM_EXPECT("I17", std::ssize(scored) == std::max<std::int64_t>(0, scores), "request ", job.id,
             " has ", scored.size(), " scores of ", scores);
  for (std::int64_t i = 0; i < std::ssize(scored); ++i) {
    const TokenScore& score = scored[static_cast<std::size_t>(i)].token;
    const std::int64_t row = scores_from + i;
    SIM_EXPECT("I13", score.id == job.row(row) && score.logprob == score_of(job.key(row - 1)),
               "request ", job.id, " has another score of token ", row);
  }
  const std::int64_t states = hidden.end - hidden.first;
  SIM_EXPECT("I17", std::ssize(outcome.hidden) == states, "request ", job.id, " has ",
             outcome.hidden.size(), " hidden states of ", states);
  for (std::int64_t i = 0; i < states; ++i) {
    const std::int64_t row = hidden.first + i;
    SIM_EXPECT("I13", outcome.hidden[static_cast<std::size_t>(i)] == hidden_of(job.key(row)),
               "request ", job.id, " has another hidden state of row ", row);
  }
  const bool has_result =
      outcome.pooled.size() == 1 && outcome.pooled[0] == hidden_of(job.key(job.prompt_rows - 1));
  SIM_EXPECT("I23", is_pooled ? has_result : outcome.pooled.empty(), "request ", job.id,
             " has another pooled result");
}

Event Client::end_event(const Circumstances& around) const {
  const Outcome& outcome = stream->outcome();
  if (outcome.finish == FinishReason::kStop) return Event::kEndToken;
  if (outcome.finish == FinishReason::kLength) return Event::kLength;
  if (outcome.finish == FinishReason::kCancelled) {
    return cancelled_at >= 0 ? Event::kCancel : around.forced ? Event::kForced : Event::kGivenUp;
  }
  switch (outcome.error->code()) {
    case ErrorCode::kNotFinite:
      return Event::kNan;
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
      return Event::kLate;
    case ErrorCode::kDoesNotFit:
      return around.losses > 0 ? Event::kLost : Event::kRefused;
    default:
      return Event::kBroken;
  }
}

}  // namespace ingot::sim
