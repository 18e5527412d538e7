// TokenRace: bounds on keys first, logarithms for the few tokens that remain.
#include "runtime/sampling/token_race.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/index.h"
#include "base/math_double.h"

namespace ingot {

namespace {

static_assert(kSpan == kNoiseGroup, "a span of a scanned row is a group of noise");

constexpr float kNoLogit = std::numeric_limits<float>::infinity();
/// What bounds leave for rounding. Their errors are below 1e-13: distances from the largest logit
/// and logarithms that matter are below 200. A larger value lets more tokens enter.
constexpr double kSlack = 1e-9;

/// A float that is at most x, and close to it. For x below the range of floats, the lowest float.
float float_at_most(double x) {
  constexpr auto kLowestFloat = static_cast<double>(std::numeric_limits<float>::lowest());
  constexpr auto kLeastNormal = static_cast<double>(std::numeric_limits<float>::min());
  // Larger than what rounding to float can add: half of 2^-23 x, or less than a normal float.
  const double margin = std::abs(x) * 0x1p-23 + kLeastNormal;
  return static_cast<float>(std::max(x - margin, kLowestFloat));
}

}  // namespace

double log_lower_bound(double x) {
  // The bits of 2^k (1 + f), less those of 1, are 2^52 (k + f). log2(1 + f) is between f and
  // f + 0.09.
  const std::int64_t bits = std::bit_cast<std::int64_t>(x) - std::bit_cast<std::int64_t>(1.0);
  return static_cast<double>(bits) * (0x1p-52 * std::numbers::ln2) - kSlack;
}

void Leader::challenge(std::int32_t other_id, double other) {
  if (other < key || (other == key && other_id > id)) return;
  id = other_id;
  key = other;
}

TokenRace::TokenRace(const DrawNoise& noise, float largest, float scale)
    : noise_(noise),
      largest_(static_cast<double>(largest)),
      scale_(static_cast<double>(scale)),
      inverse_scale_(1 / scale_) {}

float TokenRace::begin_group(std::int64_t group) {
  group_ = noise_.group(group);
  // What (logit - largest) * scale must reach even with the group's smallest noise.
  const double reach = leader_.key + log_lower_bound(group_.least_bound());
  if (reach > 0) return kNoLogit;
  return float_at_most(largest_ + reach * inverse_scale_);
}

void TokenRace::enter(std::int32_t id, float logit) {
  const double distance = (static_cast<double>(logit) - largest_) * scale_;
  if (id == group_.first) return leader_.challenge(id, distance - math::log(group_.least()));
  const Exponential excess = noise_.excess(id);
  const double bound = group_.least_bound() + excess.lower_bound();
  if (distance - log_lower_bound(bound) < leader_.key) return;
  leader_.challenge(id, distance - math::log(group_.least() + excess.value()));
}

std::int32_t draw_of_row(const HostKernels& kernels, const ScannedRow& row, std::int32_t best,
                         const DrawNoise& noise) {
  TokenRace race(noise, row.largest, row.scale);
  race.begin_group(best / kNoiseGroup);
  race.enter(best, row.largest);
  std::array<float, kSpan> logits;
  std::array<std::int32_t, kSpan> places;
  for (std::int64_t group = 0; group < spans_of(row.n); ++group) {
    const std::int64_t first = group * kSpan;
    const float least = race.begin_group(group);
    const std::int64_t found =
        kernels.collect(row.logits + first, row.tops + 16 * group, std::min(kSpan, row.n - first),
                        least, logits.data(), places.data());
    for (std::int64_t i = 0; i < found; ++i) {
      race.enter(static_cast<std::int32_t>(first) + at(places, i), at(logits, i));
    }
  }
  return race.winner();
}

std::int32_t draw_of_list(std::span<const float> logits, std::span<const std::int32_t> ids,
                          const ScannedRow& row, const DrawNoise& noise) {
  TokenRace race(noise, row.largest, row.scale);
  auto best = std::find(logits.begin(), logits.end(), row.largest) - logits.begin();
  if (best == std::ssize(logits)) {  // a filter dropped the likeliest token
    best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  race.begin_group(at(ids, best) / kNoiseGroup);
  race.enter(at(ids, best), at(logits, best));
  std::int64_t end = 0;  // the first id behind the group
  float least = kNoLogit;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= end) {
      const std::int64_t group = ids[i] / kNoiseGroup;
      end = (group + 1) * kNoiseGroup;
      least = race.begin_group(group);
    }
    if (logits[i] >= least) race.enter(ids[i], logits[i]);
  }
  return race.winner();
}

}  // namespace ingot
