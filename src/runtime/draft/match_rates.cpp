// MatchRates: running counts of matches whose next token was drawn.
#include "runtime/draft/match_rates.h"

#include <algorithm>

namespace ingot {

namespace {

/// Weight of the general rate, and of the first guess, in trials.
constexpr double kGeneral = 8;
/// Factor of the counts for each new trial, so that they count about the last 100.
constexpr double kFade = 0.99;
/// First guesses by class of lengths.
constexpr double kFirst[] = {0.25, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.85, 0.9};
/// The largest length of each class but the last.
constexpr std::int64_t kLengths[] = {2, 3, 4, 6, 8, 12, 16, 32};

double mean_of(double drawn, double trials, double guess) {
  return (drawn + kGeneral * guess) / (trials + kGeneral);
}

}  // namespace

std::size_t MatchRates::class_of(std::int64_t length) {
  return static_cast<std::size_t>(
      std::lower_bound(std::begin(kLengths), std::end(kLengths), length) - std::begin(kLengths));
}

double MatchRates::rate(std::int64_t length) const {
  const std::size_t i = class_of(length);
  return mean_of(counts_[i].drawn, counts_[i].trials, kFirst[i]);
}

double MatchRates::rate(std::int64_t length, const MatchRates& general) const {
  const Counts& counts = counts_[class_of(length)];
  return mean_of(counts.drawn, counts.trials, general.rate(length));
}

void MatchRates::add(std::int64_t length, bool is_drawn) {
  Counts& counts = counts_[class_of(length)];
  counts.trials = counts.trials * kFade + 1;
  counts.drawn = counts.drawn * kFade + (is_drawn ? 1 : 0);
}

}  // namespace ingot
