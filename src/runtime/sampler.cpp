// Greedy and temperature sampling.
#include "runtime/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/math_double.h"
#include "base/philox.h"

namespace ingot {

namespace {

/// Uniform in [0, 1) with 53 bits, from the generator's first two words.
double uniform(const SamplingParams& params, std::uint64_t index) {
  const auto words = philox4x32(
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), params.choice,
       0},
      {static_cast<std::uint32_t>(params.seed), static_cast<std::uint32_t>(params.seed >> 32)});
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace

std::optional<std::int32_t> sample(std::span<const float> logits, std::int64_t ids,
                                   const SamplingParams& params, std::uint64_t index) {
  if (std::any_of(logits.begin(), logits.end(), [](float x) { return std::isnan(x); })) {
    return std::nullopt;
  }
  const auto row = logits.first(
      static_cast<std::size_t>(std::min(ids, static_cast<std::int64_t>(logits.size()))));
  const auto best = std::max_element(row.begin(), row.end());
  if (best == row.end() || std::isinf(*best)) return std::nullopt;
  const auto greedy = static_cast<std::int32_t>(best - row.begin());
  if (params.temperature == 0) return greedy;

  const double scale = 1 / static_cast<double>(params.temperature);
  const auto weight = [&](float x) { return math::exp((static_cast<double>(x) - *best) * scale); };
  double total = 0;
  for (const float x : row) total += weight(x);
  double left = uniform(params, index) * total;
  for (std::size_t id = 0; id < row.size(); ++id) {
    left -= weight(row[id]);
    if (left < 0) return static_cast<std::int32_t>(id);
  }
  return greedy;  // rounding left a crumb beyond the last token
}

}  // namespace ingot
