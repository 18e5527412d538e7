// DrawNoise: exponential numbers from Philox4x32-10.
#include "runtime/sampling/draw_noise.h"

#include <array>

#include "base/math_double.h"
#include "base/philox.h"

namespace ingot {

namespace {

/// What random numbers are for: the values of the counter's last word. Groups and ids add their
/// number, which is below the next value.
constexpr std::uint32_t kForXtc = 1, kForGroups = 1U << 30, kForIds = 1U << 31;

std::array<std::uint32_t, 4> random_words(std::uint64_t seed, std::uint64_t index,
                                          std::uint32_t choice, std::uint32_t purpose) {
  return philox4x32(
      {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), choice, purpose},
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

std::uint64_t first_bits(const std::array<std::uint32_t, 4>& words) {
  return std::uint64_t{words[0]} << 32 | words[1];
}

}  // namespace

double Exponential::value() const { return -math::log(u); }

DrawNoise::DrawNoise(const SamplingParams& params, std::uint64_t index)
    : seed_(params.seed), index_(index), choice_(params.choice) {}

NoiseGroup DrawNoise::group(std::int64_t number) const {
  const auto words =
      random_words(seed_, index_, choice_, kForGroups + static_cast<std::uint32_t>(number));
  return {.scaled_least = Exponential::of_bits(first_bits(words)),
          .first = number * kNoiseGroup + (words[2] >> 24)};
}

void DrawNoise::groups(std::span<NoiseGroup> groups) const {
  for (std::size_t g = 0; g < groups.size(); ++g) groups[g] = group(static_cast<std::int64_t>(g));
}

Exponential DrawNoise::excess(std::int32_t id) const {
  return Exponential::of_bits(
      first_bits(random_words(seed_, index_, choice_, kForIds + static_cast<std::uint32_t>(id))));
}

void DrawNoise::excesses(std::span<const std::int32_t> ids, std::span<Exponential> excesses) const {
  for (std::size_t i = 0; i < ids.size(); ++i) excesses[i] = excess(ids[i]);
}

bool xtc_acts(const SamplingParams& params, std::uint64_t index) {
  if (params.xtc_probability == 0 || params.xtc_threshold > 0.5f) return false;
  const std::uint64_t bits =
      first_bits(random_words(params.seed, index, params.choice, kForXtc)) >> 11;
  return static_cast<double>(bits) * 0x1p-53 < static_cast<double>(params.xtc_probability);
}

}  // namespace ingot
