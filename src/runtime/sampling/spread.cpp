// logit_deviation: the mean first, then the mean of the squared distances from it.
#include "runtime/sampling/spread.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace ingot {

namespace {

constexpr std::size_t kSumLanes = 8;

/// Sums `value(logit)` over the logits that are not -Inf.
template <class Value>
double sum_finite(std::span<const float> logits, Value value) {
  std::array<double, kSumLanes> lanes{};
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool counts = logits[i] >= std::numeric_limits<float>::lowest();
    lanes[i % kSumLanes] += counts ? value(static_cast<double>(logits[i])) : 0.0;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

double logit_deviation(std::span<const float> logits) {
  const double count = sum_finite(logits, [](double) { return 1.0; });
  if (count < 2) return 0;
  const double mean = sum_finite(logits, [](double x) { return x; }) / count;
  const auto square = [mean](double x) { return (x - mean) * (x - mean); };
  return std::sqrt(sum_finite(logits, square) / count);
}

}  // namespace ingot
