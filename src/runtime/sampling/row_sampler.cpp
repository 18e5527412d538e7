// RowSampler: scans a row of logits, scores, changes and truncates it, and draws a token.
#include "runtime/sampling/row_sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numbers>

#include "base/check.h"
#include "base/index.h"
#include "base/math_double.h"
#include "runtime/sampling/spread.h"

namespace ingot {

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
/// Limit on DRY's penalty, so that logits stay finite.
constexpr double kRepeatPenaltyMax = 1e30;

double sum_of(const float* sums, std::int64_t spans) {
  double sum = 0;
  for (std::int64_t s = 0; s < spans; ++s) sum += static_cast<double>(sums[s]);
  return sum;
}

bool ends_with(std::span<const std::int32_t> tokens, std::span<const std::int32_t> end) {
  return tokens.size() >= end.size() &&
         std::equal(end.begin(), end.end(), tokens.end() - std::ssize(end));
}

/// Number of spans of logits [0, ids) and of the rest of the row.
std::int64_t spans_of_parts(std::int64_t vocab, std::int64_t ids) {
  return spans_of(ids) + spans_of(vocab - ids);
}

}  // namespace

RowSampler::RowSampler(const HostKernels& kernels, std::int64_t vocab, std::int64_t ids)
    : kernels_(kernels),
      vocab_(vocab),
      ids_(ids),
      memory_(allocate_host(spans_of_parts(vocab, ids) * 17 *
                            static_cast<std::int64_t>(sizeof(float)))),
      tops_(reinterpret_cast<float*>(memory_.data())),
      sums_(tops_ + 16 * spans_of_parts(vocab, ids)),
      candidates_(kernels, ids),
      race_(ids),
      repeats_(to_size(ids)) {
  // Biases, penalties and DRY change each token at most once.
  originals_.reserve(to_size(3 * vocab));
}

std::int64_t RowSampler::bytes(std::int64_t vocab) {
  // Two parts have at most one span more than one part has.
  return (spans_of(vocab) + 1) * 17 * static_cast<std::int64_t>(sizeof(float)) +
         3 * vocab * static_cast<std::int64_t>(sizeof(Original)) + vocab +
         Candidates::bytes(vocab) + TokenRace::bytes(vocab);
}

void RowSampler::draw(const SampleRow& row, Drawn& drawn) {
  drawn.id = -1;
  drawn.excludes_all = false;
  drawn.is_forced = false;
  drawn.surprise = 0;
  drawn.logprob = 0;
  drawn.top.clear();
  if (row.given) return take(row, drawn);
  if (row.forced >= 0) return force(row, drawn);
  if (!prepare(row, drawn)) {
    if (!drawn.excludes_all || first_allowed(row) < 0) return;
    drawn.excludes_all = false;
    drawn.is_forced = true;
    drawn.id = first_allowed(row);
    if (scored_) drawn.logprob = logprob(original(drawn.id));
    return;
  }
  drawn.id = pick(DrawNoise(*row.params, row.index));
  if (scored_) drawn.logprob = logprob(original(drawn.id));
  if (row.params->mirostat != 0 && greedy_ < 0) drawn.surprise = surprise(drawn.id);
}

/// Takes what the device drew, and adds log-probabilities if they are wanted.
void RowSampler::take(const SampleRow& row, Drawn& drawn) {
  const std::int32_t id = *row.given == kAllExcluded ? first_allowed(row) : *row.given;
  drawn.excludes_all = *row.given == kAllExcluded && id < 0;
  if (id < 0) return;
  drawn.id = id;
  if (row.params->logprobs >= 0 && open(row, drawn)) drawn.logprob = logprob(at(logits_, drawn.id));
}

/// Takes the only token that may follow, and adds log-probabilities if they are wanted.
void RowSampler::force(const SampleRow& row, Drawn& drawn) {
  if (!open(row, drawn)) return;
  drawn.id = row.forced;
  drawn.is_forced = true;
  if (scored_) drawn.logprob = logprob(at(logits_, drawn.id));
}

/// The token for a row whose logits exclude all tokens that a constraint allows; -1 without a
/// constraint.
std::int32_t RowSampler::first_allowed(const SampleRow& row) const {
  if (row.forced >= 0) return row.forced;
  for (std::size_t word = 0; word < row.mask.size(); ++word) {
    if (row.mask[word] == 0) continue;
    const auto id = static_cast<std::int32_t>(32 * word) + std::countr_zero(row.mask[word]);
    return id < ids_ ? id : -1;
  }
  return -1;
}

bool RowSampler::prepare(const SampleRow& row, Drawn& drawn) {
  if (!open(row, drawn)) return false;
  if (modify(row) && !scan()) {
    drawn.excludes_all = true;
    return false;
  }
  choose_source(row);
  return true;
}

/// Scans a row, and fills Drawn::top. Returns false if no token can be drawn.
bool RowSampler::open(const SampleRow& row, Drawn& drawn) {
  INGOT_CHECK(std::ssize(row.logits) == vocab_, "a row of ", row.logits.size(), " logits, not ",
              vocab_);
  logits_ = row.logits;
  row_ = {.logits = logits_.data(), .tops = tops_, .n = ids_};
  scored_ = row.params->logprobs >= 0;
  originals_.clear();
  rest_largest_ = -kInf;
  if (vocab_ > ids_) {
    rest_largest_ =
        kernels_.scan(logits_.data() + ids_, vocab_ - ids_, tops_ + 16 * spans_of(ids_));
  }
  if (!(rest_largest_ < kInf) || !scan()) return false;
  if (scored_) score(row.params->logprobs, drawn.top);
  return true;
}

/// Finds the largest of logits [0, ids). Returns false if one is NaN or +Inf, or all are -Inf.
bool RowSampler::scan() {
  row_.largest = kernels_.scan(row_.logits, row_.n, tops_);
  return row_.largest > -kInf && row_.largest < kInf;
}

/// Prepares log-probabilities of the unchanged row, and writes the `count` best tokens to `top`.
void RowSampler::score(std::int64_t count, std::vector<TokenScore>& top) {
  raw_largest_ = std::max(row_.largest, rest_largest_);
  kernels_.weigh(logits_.data(), ids_, raw_largest_, 1, nullptr, sums_);
  kernels_.weigh(logits_.data() + ids_, vocab_ - ids_, raw_largest_, 1, nullptr,
                 sums_ + spans_of(ids_));
  log_sum_ = math::log(sum_of(sums_, spans_of_parts(vocab_, ids_)));
  if (count == 0) return;
  candidates_.best(row_, count, top);
  for (TokenScore& score : top) score.logprob = logprob(score.logprob);
}

float RowSampler::logprob(float logit) const {
  return static_cast<float>((static_cast<double>(logit) - static_cast<double>(raw_largest_)) -
                            log_sum_);
}

/// Returns the logit of a token to change. Remembers its value if log-probabilities are wanted.
float& RowSampler::change(std::int32_t id) {
  float& logit = at(logits_, id);
  if (scored_) originals_.push_back({.id = id, .logit = logit});
  return logit;
}

/// A token's logit before the first change.
float RowSampler::original(std::int32_t id) const {
  const auto first = std::find_if(originals_.begin(), originals_.end(),
                                  [&](const Original& o) { return o.id == id; });
  return first != originals_.end() ? first->logit : at(logits_, id);
}

/// Applies biases, masks and penalties. Returns false if no logit changed. A prompt may contain ids
/// that cannot be drawn; such ids are skipped. Computes the deviation before the penalties: one
/// large penalty would raise the deviation so far that top_n_sigma drops no token.
bool RowSampler::modify(const SampleRow& row) {
  bool changed = false;
  for (const auto& [id, bias] : row.params->logit_bias) {
    if (id >= ids_) continue;
    change(id) += bias;
    changed = true;
  }
  changed |= mask(row);
  if (row.params->top_n_sigma > 0) deviation_ = logit_deviation(logits_.first(to_size(ids_)));
  changed |= penalise(*row.params, row.counts);
  changed |= penalise_repeats(*row.params, row.repeats);
  return changed;
}

/// Sets the logits of tokens that may not be drawn to -Inf. Returns false if no logit changed. No
/// log-probability of these tokens is reported, so their values are not remembered.
bool RowSampler::mask(const SampleRow& row) {
  if (!row.mask.empty()) {
    keep(row.mask);
    return true;
  }
  bool changed = false;
  if (row.index < static_cast<std::uint64_t>(row.params->min_tokens)) {
    for (const std::int32_t id : row.params->end_ids) {
      if (id >= ids_) continue;
      at(logits_, id) = -kInf;
      changed = true;
    }
  }
  for (const std::vector<std::int32_t>& word : row.bad_words) {
    const auto before = std::span(word).first(word.size() - 1);
    if (word.back() >= ids_ || !ends_with(row.drawn, before)) continue;
    at(logits_, word.back()) = -kInf;
    changed = true;
  }
  if (row.allowed.empty()) return changed;
  std::int32_t next = 0;
  for (const std::int32_t id : row.allowed) {
    std::fill(logits_.begin() + next, logits_.begin() + id, -kInf);
    next = id + 1;
  }
  std::fill(logits_.begin() + next, logits_.begin() + ids_, -kInf);
  return true;
}

/// Sets the logits of ids to -Inf that are not in a mask.
void RowSampler::keep(std::span<const std::uint32_t> allowed) {
  const auto logits = logits_.first(to_size(ids_));
  for (std::size_t word = 0; 32 * word < logits.size(); ++word) {
    const std::uint32_t bits = word < allowed.size() ? allowed[word] : 0;
    if (bits == ~std::uint32_t{0}) continue;
    const auto some =
        logits.subspan(32 * word, std::min<std::size_t>(32, logits.size() - 32 * word));
    for (std::size_t i = 0; i < some.size(); ++i) {
      if ((bits >> i & 1) == 0) some[i] = -kInf;
    }
  }
}

bool RowSampler::penalise(const SamplingParams& params, const TokenCounts* counts) {
  const float repetition = params.repetition_penalty;
  const auto presence = static_cast<double>(params.presence_penalty);
  const auto frequency = static_cast<double>(params.frequency_penalty);
  if (repetition == 1 && presence == 0 && frequency == 0) return false;
  INGOT_CHECK(counts != nullptr, "penalties need the counts of tokens");
  for (const auto& [id, generated] : counts->counts()) {
    if (id >= ids_) continue;
    float& logit = change(id);
    logit = logit > 0 ? logit / repetition : logit * repetition;
    if (generated == 0) continue;
    logit = static_cast<float>(static_cast<double>(logit) - (generated * frequency + presence));
  }
  return true;
}

/// Applies DRY, in two searches: the first finds the longest repetition of each token, the second
/// changes each of these tokens once. Returns false if no logit changed.
bool RowSampler::penalise_repeats(const SamplingParams& params, const RepeatHistory* repeats) {
  if (params.dry_multiplier == 0) return false;
  INGOT_CHECK(repeats != nullptr, "DRY needs the history of tokens");
  const auto tokens = repeats->last(params.dry_penalty_last_n);
  const std::int64_t allowed = params.dry_allowed_length;
  const std::int64_t least = std::max<std::int64_t>(1, allowed);
  std::array<double, kRepeatMax + 1> penalties{};
  double penalty = static_cast<double>(params.dry_multiplier);
  for (std::int64_t length = allowed; length <= kRepeatMax; ++length) {
    at(penalties, length) = std::min(penalty, kRepeatPenaltyMax);
    penalty *= static_cast<double>(params.dry_base);
  }
  each_repeat(tokens, least, [&](std::int32_t id, std::int64_t length) {
    if (id >= ids_) return;
    std::uint8_t& longest = at(repeats_, id);
    longest = std::max(longest, static_cast<std::uint8_t>(length));
  });
  bool changed = false;
  each_repeat(tokens, least, [&](std::int32_t id, std::int64_t) {
    if (id >= ids_ || at(repeats_, id) == 0) return;
    const std::int64_t longest = at(repeats_, id);
    float& logit = change(id);
    logit = static_cast<float>(static_cast<double>(logit) - at(penalties, longest));
    at(repeats_, id) = 0;
    changed = true;
  });
  return changed;
}

void RowSampler::choose_source(const SampleRow& row) {
  const SamplingParams& params = *row.params;
  greedy_ = -1;
  if (params.temperature == 0) {
    greedy_ = candidates_.best(row_);
    return;
  }
  row_.scale = std::min(1 / params.temperature, std::numeric_limits<float>::max());
  const FilterState state{.excludes_top = xtc_acts(params, row.index),
                          .deviation = deviation_,
                          .surprise_max = row.surprise_max};
  truncated_ = state.excludes_top || Candidates::truncates(params, ids_);
  if (!truncated_) return;
  const bool weighs = Candidates::needs_weight(params, ids_);
  candidates_.truncate(row_, params, state, weighs ? weight_of({row_.logits, to_size(ids_)}) : 0);
}

std::int32_t RowSampler::pick(const DrawNoise& noise) {
  if (greedy_ >= 0) return greedy_;
  if (truncated_) return race_.draw(row_, candidates_.logits(), candidates_.ids(), noise);
  return race_.draw(row_, noise);
}

/// The logits of the tokens that `pick` can return.
std::span<const float> RowSampler::kept_logits() const {
  return truncated_ ? candidates_.logits() : std::span(row_.logits, to_size(row_.n));
}

/// Returns the sum of the weights of these logits.
double RowSampler::weight_of(std::span<const float> logits) const {
  kernels_.weigh(logits.data(), std::ssize(logits), row_.largest, row_.scale, nullptr, sums_);
  return sum_of(sums_, spans_of(std::ssize(logits)));
}

/// -log2 of the probability with which `pick` returns a token.
double RowSampler::surprise(std::int32_t id) const {
  float weight = 0;
  kernels_.weigh(logits_.data() + id, 1, row_.largest, row_.scale, &weight, nullptr);
  return math::log(weight_of(kept_logits()) / static_cast<double>(weight)) / std::numbers::ln2;
}

std::vector<TokenProbability> RowSampler::distribution() {
  if (greedy_ >= 0) return {{.id = greedy_, .probability = 1}};
  const std::span<const float> logits = kept_logits();
  std::vector<float> weights(logits.size());
  kernels_.weigh(logits.data(), std::ssize(logits), row_.largest, row_.scale, weights.data(),
                 nullptr);
  const double total = weight_of(logits);
  std::vector<TokenProbability> tokens;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const std::int32_t id = truncated_ ? candidates_.ids()[i] : static_cast<std::int32_t>(i);
    tokens.push_back({.id = id, .probability = static_cast<double>(weights[i]) / total});
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const auto& a, const auto& b) { return a.probability > b.probability; });
  return tokens;
}

}  // namespace ingot
