// TokenRace: bounds on keys first, estimates for the few tokens that remain.
#include "runtime/sampling/token_race.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/index.h"
#include "base/math_double.h"

namespace ingot {

namespace {

static_assert(kSpan == kNoiseGroup, "a span of a scanned row is a group of noise");

constexpr float kNoLogit = std::numeric_limits<float>::infinity();
constexpr int kColumns = 16;
/// Limit on the error of Racer::key_estimate, which is below 3e-7: the noise has a relative error
/// of 1e-7, so its logarithm has an absolute error of 1e-7, and log_estimate adds another 1e-7. A
/// smaller limit than the error could change the draw.
constexpr double kEstimateError = 1e-6;

/// A float that is at most x, and close to it. For x below the range of floats, the lowest float.
float float_at_most(double x) {
  constexpr auto kLowestFloat = static_cast<double>(std::numeric_limits<float>::lowest());
  constexpr auto kLeastNormal = static_cast<double>(std::numeric_limits<float>::min());
  // Larger than what rounding to float can add: half of 2^-23 x, or less than a normal float.
  const double margin = std::abs(x) * 0x1p-23 + kLeastNormal;
  return static_cast<float>(std::max(x - margin, kLowestFloat));
}

/// Returns whether one of a group's top logits is at least `least`. Has no branches.
bool reaches(const float* tops, float least) {
  std::int32_t any = 0;
  for (int l = 0; l < kColumns; ++l) any |= static_cast<std::int32_t>(tops[l] >= least);
  return any != 0;
}

/// Bit l says whether tops[l] is at least `least`. Has no branches.
std::uint32_t columns_that_reach(const float* tops, float least) {
  std::uint32_t columns = 0;
  for (int l = 0; l < kColumns; ++l) columns |= std::uint32_t{tops[l] >= least} << l;
  return columns;
}

/// Returns a token with the largest logit of a row.
std::int32_t best_of(const ScannedRow& row) {
  const float* tops = row.tops;
  std::int64_t id = 0;
  for (; !reaches(tops, row.largest); tops += kColumns) id += kSpan;
  while (row.logits[id] < row.largest) ++id;
  return static_cast<std::int32_t>(id);
}

}  // namespace

void Leader::challenge(std::int32_t other_id, double other) {
  if (other < key || (other == key && other_id > id)) return;
  id = other_id;
  key = other;
}

double Racer::key() const { return distance - math::log(group.least() + excess.value()); }

double Racer::key_estimate() const {
  return distance - log_estimate(group.least_estimate() + excess.estimate());
}

TokenRace::TokenRace(std::int64_t room) : groups_(to_size(spans_of(room))) {}

std::int64_t TokenRace::bytes(std::int64_t room) {
  return spans_of(room) * static_cast<std::int64_t>(sizeof(NoiseGroup));
}

std::int32_t TokenRace::draw(const ScannedRow& row, const DrawNoise& noise) {
  begin(row, noise);
  enter_one(best_of(row), row.largest);
  enter_row();
  return leader_.id;
}

std::int32_t TokenRace::draw(const ScannedRow& row, std::span<const float> logits,
                             std::span<const std::int32_t> ids, const DrawNoise& noise) {
  begin(row, noise);
  if (std::ssize(ids) < spans_of(row.n)) {
    enter_list(logits, ids);
    return leader_.id;
  }
  listed_ = ids;
  const std::int32_t best = best_of(row);
  if (is_listed(best)) {
    enter_one(best, row.largest);
  } else {  // a filter dropped the likeliest token
    const auto place = std::max_element(logits.begin(), logits.end()) - logits.begin();
    enter_one(at(ids, place), at(logits, place));
  }
  enter_row();
  return leader_.id;
}

void TokenRace::begin(const ScannedRow& row, const DrawNoise& noise) {
  row_ = row;
  noise_ = &noise;
  listed_ = {};
  inverse_scale_ = 1 / static_cast<double>(row.scale);
  leader_ = {};
  leader_key_ = floor_ = -std::numeric_limits<double>::infinity();
}

void TokenRace::enter_one(std::int32_t id, float logit) {
  const NoiseGroup group = noise_->group(id / kNoiseGroup);
  enter({.id = id,
         .distance = distance(logit),
         .group = group,
         .excess = id == group.first ? Exponential{.u = 1} : noise_->excess(id)});
}

/// Computes noises before comparisons: no noise then waits for the outcome of a comparison.
void TokenRace::enter_list(std::span<const float> logits, std::span<const std::int32_t> ids) {
  std::array<Racer, kTogether> racers;
  for (std::size_t first = 0; first < ids.size(); first += kTogether) {
    const std::size_t n = std::min(kTogether, ids.size() - first);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t id = ids[first + i];
      const bool same_group = i > 0 && racers[i - 1].id / kNoiseGroup == id / kNoiseGroup;
      racers[i] = {.id = id,
                   .distance = distance(logits[first + i]),
                   .group = same_group ? racers[i - 1].group : noise_->group(id / kNoiseGroup),
                   .excess = noise_->excess(id)};
      if (id == racers[i].group.first) racers[i].excess.u = 1;
    }
    for (std::size_t i = 0; i < n; ++i) enter(racers[i]);
  }
}

void TokenRace::enter_row() {
  const auto groups = std::span(groups_).first(to_size(spans_of(row_.n)));
  noise_->groups(groups);
  for (const NoiseGroup& group : groups) {
    if (group.first >= row_.n) continue;
    enter({.id = static_cast<std::int32_t>(group.first),
           .distance = distance(row_.logits[group.first]),
           .group = group,
           .excess = {.u = 1}});
  }
  waiting_count_ = 0;
  for (std::int64_t number = 0; number < std::ssize(groups); ++number) enter_group(number);
  enter_waiting();
}

/// Lets the tokens of a group wait that may win, except the one with the minimum.
void TokenRace::enter_group(std::int64_t number) {
  const NoiseGroup& group = at(groups_, number);
  const float least = least_logit(group);
  const float* tops = row_.tops + kColumns * number;
  if (!reaches(tops, least)) return;
  if (waiting_count_ > kTogether) enter_waiting();
  const std::int64_t first = kNoiseGroup * number;
  const std::int64_t end = std::min(row_.n, first + kNoiseGroup);
  const auto skipped = static_cast<std::int32_t>(group.first);
  const float* logits = row_.logits;
  std::int32_t* waiting = waiting_.data() + waiting_count_;
  for (auto columns = columns_that_reach(tops, least); columns != 0; columns &= columns - 1) {
    for (std::int64_t i = first + std::countr_zero(columns); i < end; i += kColumns) {
      const auto id = static_cast<std::int32_t>(i);
      *waiting = id;  // overwritten by the next token unless this one waits
      waiting += static_cast<int>(logits[i] >= least) & static_cast<int>(id != skipped);
    }
  }
  waiting_count_ = static_cast<std::size_t>(waiting - waiting_.data());
}

void TokenRace::enter_waiting() {
  std::array<Exponential, kWaitingMax> excesses;
  const auto ids = std::span(waiting_).first(waiting_count_);
  noise_->excesses(ids, std::span(excesses).first(ids.size()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    enter({.id = ids[i],
           .distance = distance(row_.logits[ids[i]]),
           .group = at(groups_, ids[i] / kNoiseGroup),
           .excess = excesses[i]});
  }
  waiting_count_ = 0;
}

void TokenRace::challenge(const Racer& racer) {
  const double key = racer.key_estimate();
  if (key <= floor_ || !is_listed(racer.id)) return;
  if (key < leader_key_ + 2 * kEstimateError) {
    Leader leader{.id = leader_.id, .key = leader_.key()};
    leader.challenge(racer.id, racer.key());
    if (leader.id != racer.id) return;
  }
  leader_ = racer;
  leader_key_ = key;
  floor_ = key - 2 * kEstimateError;
}

bool TokenRace::is_listed(std::int32_t id) const {
  return listed_.empty() || std::binary_search(listed_.begin(), listed_.end(), id);
}

double TokenRace::distance(float logit) const {
  return (static_cast<double>(logit) - static_cast<double>(row_.largest)) *
         static_cast<double>(row_.scale);
}

/// The least logit that may win in a group, or +Inf if none may win. A logit of -Inf never wins.
float TokenRace::least_logit(const NoiseGroup& group) const {
  // What (logit - largest) * scale must reach even with the group's smallest noise.
  const double reach = floor_ + log_lower_bound(group.least_bound());
  if (reach > 0) return kNoLogit;
  return float_at_most(static_cast<double>(row_.largest) + reach * inverse_scale_);
}

}  // namespace ingot
