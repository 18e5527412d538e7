// share_alpha: takes the most frequent alpha, and finds the factors for the other pairs.
#include "convert/adapter/adapter_scales.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ingot {

namespace {

/// Whether alpha / rank is the scale, rounded to the engine's float32.
bool gives_scale(double alpha, std::int64_t rank, double scale) {
  return static_cast<float>(alpha / static_cast<double>(rank)) == static_cast<float>(scale);
}

/// The power of 2 that is nearest to a number's magnitude, with the number's sign.
double nearest_power(double number) {
  const double power = std::exp2(std::round(std::log2(std::fabs(number))));
  return std::copysign(power, number);
}

}  // namespace

double alpha_of(double scale, std::int64_t rank) {
  const double alpha = scale * static_cast<double>(rank);
  const auto narrow = static_cast<double>(static_cast<float>(alpha));
  return gives_scale(narrow, rank, scale) ? narrow : alpha;
}

SharedAlpha share_alpha(std::span<const NewPair> pairs) {
  std::map<float, int> counts;
  for (const NewPair& pair : pairs) {
    const auto alpha = static_cast<float>(alpha_of(pair.scale, pair.rank));
    if (alpha != 0) ++counts[alpha];
  }
  SharedAlpha shared;
  int most = 0;
  for (const auto& [alpha, count] : counts) {
    if (count > most) shared.alpha = alpha;
    most = std::max(most, count);
  }
  if (shared.alpha == 0) return shared;
  const auto alpha = static_cast<double>(shared.alpha);
  for (const NewPair& pair : pairs) {
    double& factor = shared.factors.emplace_back(1);
    if (pair.scale == 0) factor = 0;
    if (pair.scale == 0 || gives_scale(alpha, pair.rank, pair.scale)) continue;
    const double wanted = pair.scale * static_cast<double>(pair.rank) / alpha;
    factor = nearest_power(wanted);
    if (gives_scale(alpha * factor, pair.rank, pair.scale)) continue;
    factor = wanted;
    shared.exact = false;
  }
  return shared;
}

}  // namespace ingot
