// Candidates: collects the tokens above a safe bound, then cuts the short list exactly.
#include "runtime/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/index.h"
#include "base/math_double.h"

namespace ingot {

namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
/// Scaled distance from the largest logit beyond which a weight is 0, because exp underflows below
/// -87.3. A smaller value would drop tokens that have a weight.
constexpr double kDepthMax = 88;
/// Depths (scaled distances from the largest logit) that top_p tries in turn. Most rows need only
/// the first ones. The list grows quickly with depth, so the early tries cost little.
constexpr double kDepths[] = {2, 4, 6, 8, 10, 12, 14, 17, 20, 25, 32, 48, kDepthMax};

bool cuts_top_k(const SamplingParams& p, std::int64_t n) { return p.top_k > 0 && p.top_k < n; }

std::int64_t tops_of(std::int64_t n) { return 16 * spans_of(n); }

std::int64_t places_for(std::int64_t room) { return std::max(room, tops_of(room)); }

/// The depth below which min_p drops all tokens, with a margin for rounding.
double min_p_depth(float min_p) {
  if (min_p == 0) return kDepthMax;
  return std::min(kDepthMax, 1e-3 - math::log(static_cast<double>(min_p)));
}

}  // namespace

Candidates::Candidates(const HostKernels& kernels, std::int64_t room)
    : kernels_(kernels), memory_(allocate_host(bytes(room))) {
  auto* next = reinterpret_cast<float*>(memory_.data());
  const auto take = [&](std::int64_t n) {
    const std::span<float> part(next, to_size(n));
    next += n;
    return part;
  };
  const auto take_ints = [&](std::int64_t n) {
    const auto part = take(n);
    return std::span(reinterpret_cast<std::int32_t*>(part.data()), part.size());
  };
  logits_ = take(room);
  weights_ = take(room);
  keys_ = take(room);
  sums_ = take(spans_of(room));
  coarse_ = take(tops_of(tops_of(room)));
  ids_ = take_ints(room);
  places_ = take_ints(places_for(room));
}

std::int64_t Candidates::bytes(std::int64_t room) {
  return static_cast<std::int64_t>(sizeof(float)) *
         (4 * room + spans_of(room) + tops_of(tops_of(room)) + places_for(room));
}

bool Candidates::truncates(const SamplingParams& p, std::int64_t n) {
  return p.top_n_sigma > 0 || cuts_top_k(p, n) || p.typical_p < 1 || p.top_p < 1 || p.min_p > 0 ||
         p.mirostat != 0;
}

bool Candidates::needs_weight(const SamplingParams& p, std::int64_t n) {
  return p.top_p < 1 && p.typical_p >= 1 && !cuts_top_k(p, n) && !(p.top_n_sigma > 0);
}

void Candidates::truncate(const ScannedRow& row, const SamplingParams& p, const FilterState& state,
                          double row_weight) {
  row_ = row;
  const bool whole = needs_weight(p, row.n);
  if (p.top_n_sigma > 0) {
    take_near(static_cast<double>(p.top_n_sigma) * state.deviation);
    if (cuts_top_k(p, size_)) keep_best(p.top_k);
  } else if (cuts_top_k(p, row.n)) {
    take_top_k(p.top_k);
  } else if (p.typical_p < 1) {
    collect_to_depth(kDepthMax);
  } else if (whole) {
    take_until(static_cast<double>(p.top_p) * row_weight, row_weight, min_p_depth(p.min_p));
  } else {
    collect_to_depth(min_p_depth(p.min_p));
  }
  if (p.typical_p < 1) keep_typical(static_cast<double>(p.typical_p));
  if (p.top_p < 1) {
    const double target = static_cast<double>(p.top_p) * (whole ? row_weight : weight());
    keep(logits(), find_cut(logits(), weights(), target, places_));
  }
  if (p.min_p > 0) keep_likely(p.min_p);
  if (p.mirostat != 0) keep_expected(state.surprise_max);
  if (state.excludes_top) drop_top(p.xtc_threshold);
}

std::int32_t Candidates::best(const ScannedRow& row) {
  row_ = row;
  collect(row.largest);
  return ids_[0];
}

void Candidates::best(const ScannedRow& row, std::int64_t count, std::vector<TokenScore>& top) {
  row_ = row;
  collect(bound_of_best(count));
  for (std::size_t i = 0; i < this->count(); ++i) places_[i] = static_cast<std::int32_t>(i);
  const auto kept = std::min(count, size_);
  std::partial_sort(places_.begin(), places_.begin() + kept, places_.begin() + size_,
                    [&](std::int32_t a, std::int32_t b) {
                      const float x = at(logits_, a);
                      const float y = at(logits_, b);
                      return x != y ? x > y : a < b;
                    });
  top.resize(to_size(kept));
  for (std::size_t i = 0; i < top.size(); ++i) {
    top[i] = {.id = at(ids_, places_[i]), .logprob = at(logits_, places_[i])};
  }
}

/// A logit that at least `count` tokens reach, but few more do: the count-th largest of the tops,
/// or of the tops' own tops if these are enough. Each top is the logit of a different token.
float Candidates::bound_of_best(std::int64_t count) {
  std::span<const float> tops(row_.tops, to_size(tops_of(row_.n)));
  if (4 * count <= tops_of(std::ssize(tops))) {
    kernels_.scan(tops.data(), std::ssize(tops), coarse_.data());
    tops = coarse_.first(to_size(tops_of(std::ssize(tops))));
  }
  if (count >= std::ssize(tops)) return -std::numeric_limits<float>::infinity();
  return find_cut(tops, {}, static_cast<double>(count), places_).key;
}

void Candidates::collect(float least) {
  size_ = kernels_.collect(row_.logits, row_.tops, row_.n, least, logits_.data(), ids_.data());
  weighed_ = false;
}

/// Fills the list with the tokens with weights of at least about exp(-depth).
void Candidates::collect_to_depth(double depth) {
  const double least = static_cast<double>(row_.largest) - depth / static_cast<double>(row_.scale);
  collect(static_cast<float>(std::max(least, static_cast<double>(kLowest))));
}

/// The tokens' weights. Computes them, unless the list is as it was at the last call.
std::span<const float> Candidates::weights() {
  if (!weighed_) {
    kernels_.weigh(logits_.data(), size_, row_.largest, row_.scale, weights_.data(), sums_.data());
    weighed_ = true;
  }
  return weights_.first(count());
}

/// The sum of the tokens' weights.
double Candidates::weight() {
  static_cast<void>(weights());
  double sum = 0;
  for (std::int64_t s = 0; s < spans_of(size_); ++s) sum += at(sums_, s);
  return sum;
}

void Candidates::take_top_k(std::int64_t k) {
  collect(std::max(kLowest, bound_of_best(k)));
  keep_best(k);
}

void Candidates::keep_best(std::int64_t k) {
  keep(logits(), find_cut(logits(), {}, static_cast<double>(k), places_));
}

/// Fills the list with the tokens whose logits are at most `range` below the largest.
void Candidates::take_near(double range) {
  const double bound = static_cast<double>(row_.largest) - range;
  auto least = static_cast<float>(std::max(bound, static_cast<double>(kLowest)));
  if (static_cast<double>(least) < bound) least = std::nextafter(least, row_.largest);
  collect(least);
}

/// Collects to greater depths until the list's weights sum to `target`, or to `depth_max`, where
/// min_p cuts anyway. The best token has weight 1. If the row's weight is much larger, the row is
/// flat and most of its weight lies deep, so the first depths are skipped.
void Candidates::take_until(double target, double row_weight, double depth_max) {
  const double first = std::min(kDepthMax, 2 + 2 * math::log(row_weight));
  for (const double depth : kDepths) {
    if (depth < first && depth < depth_max) continue;
    collect_to_depth(std::min(depth, depth_max));
    if (depth >= depth_max || weight() >= target) return;
  }
}

/// Orders tokens by how near their information is to the entropy. With d = (largest - logit) *
/// scale, both contain log(sum of w), so the distance is |d - sum(w d) / sum(w)|.
void Candidates::keep_typical(double typical_p) {
  const auto distance = [&](std::size_t i) {
    return (static_cast<double>(row_.largest) - static_cast<double>(logits_[i])) *
           static_cast<double>(row_.scale);
  };
  const auto weights = this->weights();
  double sum = 0;
  double weighted = 0;
  for (std::size_t i = 0; i < count(); ++i) {
    const auto w = static_cast<double>(weights[i]);
    sum += w;
    if (w > 0) weighted += w * distance(i);
  }
  const double centre = weighted / sum;
  for (std::size_t i = 0; i < count(); ++i) {
    keys_[i] = static_cast<float>(-std::abs(distance(i) - centre));
  }
  const auto keys = keys_.first(count());
  keep(keys, find_cut(keys, weights, typical_p * sum, places_));
}

void Candidates::keep_likely(float share) {
  const auto weights = this->weights();
  const float least = share * *std::max_element(weights.begin(), weights.end());
  keep(weights, {.key = least, .last = size_});
}

/// Keeps the best token, and each token whose surprise, -log2 of its probability, is within a
/// limit.
void Candidates::keep_expected(double surprise_max) {
  const auto weights = this->weights();
  const double least = weight() * math::exp(-surprise_max * std::numbers::ln2);
  const double best = static_cast<double>(*std::max_element(weights.begin(), weights.end()));
  keep(weights, {.key = static_cast<float>(std::min(least, best)), .last = size_});
}

/// Drops the tokens with at least this probability, except the least likely of them. If several are
/// equally unlikely, the token with the highest id stays. Drops tokens of weight 0, too: without
/// the likeliest tokens they could be drawn.
void Candidates::drop_top(float threshold) {
  const auto weights = this->weights();
  const double least = static_cast<double>(threshold) * weight();
  const auto is_top = [&](std::size_t i) {
    return weights[i] > 0 && static_cast<double>(weights[i]) >= least;
  };
  std::size_t stays = count();
  for (std::size_t i = 0; i < count(); ++i) {
    if (is_top(i) && (stays == count() || weights[i] <= weights[stays])) stays = i;
  }
  for (std::size_t i = 0; i < count(); ++i) {
    keys_[i] = weights[i] == 0 || (is_top(i) && i != stays) ? 0.0f : 1.0f;
  }
  keep(keys_.first(count()), {.key = 1, .last = size_});
}

/// Keeps the tokens before the cut, still by ascending id.
void Candidates::keep(std::span<const float> keys, Cut cut) {
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto to = to_size(kept);
    // The key is read first: it may lie where the logit is written.
    const bool stays = cut.keeps(keys[i], static_cast<std::int64_t>(i));
    logits_[to] = logits_[i];
    ids_[to] = ids_[i];
    kept += static_cast<std::int64_t>(stays);
  }
  size_ = kept;
  weighed_ = false;
}

}  // namespace ingot
