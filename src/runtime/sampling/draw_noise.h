// DrawNoise: the random numbers that decide which token is drawn, and whether XTC acts.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/sampling/log_bounds.h"
#include "runtime/sampling/sampling_params.h"

namespace ingot {

/// Number of ids in a group, whose noises are made from their minimum. Another number changes
/// sampled tokens.
inline constexpr std::int32_t kNoiseGroup = 256;

/// A random number of the exponential distribution with mean 1: -log(u) for a uniform u.
struct Exponential {
  double u = 0.5;  ///< in (0, 1), a multiple of 2^-53

  /// Makes a number from 64 random bits: u = (the upper 52 bits + 0.5) * 2^-52.
  static Exponential of_bits(std::uint64_t bits) {
    return {.u = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52};
  }

  double value() const;
  /// Returns a number close to `value()`, as log_estimate does.
  double estimate() const { return -log_estimate(u); }
  /// Returns a number between 0 and `value()`, apart from rounding, without a logarithm. It is
  /// close to `value()` if that is small.
  double lower_bound() const {
    const double y = 1 - u;  // -log(1 - y) = y + y^2 / 2 + y^3 / 3 + ...
    return y + 0.5 * y * y;
  }
};

/// What the noises of 256 consecutive ids share: their minimum.
struct NoiseGroup {
  Exponential scaled_least{};  ///< 256 times the minimum
  std::int64_t first = 0;      ///< the id whose noise is the minimum

  double least() const { return scaled_least.value() / kNoiseGroup; }
  double least_estimate() const { return scaled_least.estimate() / kNoiseGroup; }
  /// Returns a number between 0 and `least()`, as Exponential::lower_bound.
  double least_bound() const { return scaled_least.lower_bound() / kNoiseGroup; }
};

/// The noise of one draw: a number x > 0 for each token id. Sampler states how it is used.
///
/// The numbers are independent, and each has the exponential distribution with mean 1, as -log(u)
/// has for a uniform u. Each group of 256 ids begins with its minimum, so that a draw skips a group
/// that cannot win. The minimum of 256 such numbers is exponential with mean 1 / 256, and every id
/// is equally likely to have it. The others exceed it by independent numbers that are exponential
/// with mean 1 again.
///
///     bits(c) = words 0 (high) and 1 (low) of Philox4x32-10
///               with key `seed` and counter (index, choice, c)
///
///     E(c) = -log((floor(bits(c) / 2^12) + 0.5) * 2^-52), in double (base/math_double.h)
///
///     group g = id / 256, c = 2^30 + g:  least = E(c) / 256,  first = 256 g + floor(word 2 / 2^24)
///
///     id, c = 2^31 + id:  x = least + (id == first ? 0 : E(c))
///
/// The index of the token has 64 bits in the counter, `choice` and c have 32 bits each.
class DrawNoise {
 public:
  /// Makes the noise for token `index` of a choice.
  DrawNoise(const SamplingParams& params, std::uint64_t index);

  /// Returns the minimum of the noises of ids [256 number, 256 (number + 1)).
  NoiseGroup group(std::int64_t number) const;
  /// Writes the minimums of groups 0, 1, 2, ... to `groups`.
  void groups(std::span<NoiseGroup> groups) const;
  /// Returns by how much the noise of an id, which is not NoiseGroup::first, exceeds the minimum.
  Exponential excess(std::int32_t id) const;
  /// Writes the excess of each id. Several numbers take less time together.
  ///
  /// Shapes: ids and excesses [n].
  void excesses(std::span<const std::int32_t> ids, std::span<Exponential> excesses) const;

 private:
  std::uint64_t seed_;
  std::uint64_t index_;
  std::uint32_t choice_;
};

/// Returns whether XTC acts when token `index` of a choice is drawn. Takes a number of its own: the
/// upper 53 of bits(1), in the words of DrawNoise.
bool xtc_acts(const SamplingParams& params, std::uint64_t index);

}  // namespace ingot
