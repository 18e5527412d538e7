// What the encoders that search share: alternating least squares over four weights at once.
//
// For given codes the best scales solve a linear least-squares problem; for given scales the best
// codes are the nearest ones. Both steps only lower the error, so a start runs to a local optimum;
// of several starts per sub-block the best is taken further. Then the scales are rounded to what
// the block stores and the same two steps are repeated with those. Least squares are solved for
// what remains of the weights: so float32 is exact enough.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "base/inline.h"
#include "base/text.h"

namespace ingot::k_search {

// Starts lie up to 5 fifths of a code beside the scale that maps the range to the codes exactly.
// Measured on 200k normal weights: twice as many starts lower the error by 0.1 % (Q4_K; with an
// importance 0.2 %) and not at all (Q6_K) at 0.7 of the speed; with sums in double it is another
// 0.1 to 0.2 % (up to 1.3 %) lower at a quarter of the speed.
inline constexpr int kStartsEachSide = 5;
inline constexpr float kStartStep = 0.2f;
inline constexpr int kIterations = 4;
inline constexpr int kRefinements = 3;

/// Beyond every format's range, and small enough to be squared and added up.
inline constexpr float kWeightMax = 1e9f;

/// Four numbers side by side.
using Four = float __attribute__((vector_size(16)));

/// The four numbers from `from` on.
INGOT_INLINE Four load(const float* from) {
  Four v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

/// The sum of the four, always in the same order.
INGOT_INLINE float sum(Four v) { return (v[0] + v[2]) + (v[1] + v[3]); }

/// The integers of [low, high] that are nearest to `v`, halves up.
INGOT_INLINE Four nearest(Four v, float low, float high) {
  using FourInts = std::int32_t __attribute__((vector_size(16)));
  const Four zero{};
  const Four top = zero + (high - low + 0.5f);
  Four code = v + (0.5f - low);
  code = code < zero ? zero : code;
  code = code > top ? top : code;
  return __builtin_convertvector(__builtin_convertvector(code, FourInts), Four) + low;
}

/// The integer of [low, high] that is nearest to `v`, halves up.
inline int nearest(double v, int low, int high) {
  const double clamped = std::clamp(v, static_cast<double>(low), static_cast<double>(high));
  return static_cast<int>(clamped - low + 0.5) + low;
}

/// 1 / scale, and 0 for a scale of nearly zero: then every code is the one nearest to zero.
inline float inverse(float scale) { return std::fabs(scale) < 1e-30f ? 0 : 1 / scale; }
/// The same in double.
inline double inverse(double scale) { return scale == 0 ? 0 : 1 / scale; }

/// `scale` as F16 bits.
///
/// Errors: kInvalid, naming `format`, when it is beyond F16's range.
inline std::uint16_t scale_to_half(double scale, const char* format) {
  const std::uint16_t bits = float_to_half(static_cast<float>(scale));
  if ((bits & 0x7C00) == 0x7C00) {
    throw Error(ErrorCode::kInvalid, cat("values too large for ", format, ": a scale of ", scale,
                                         ", at most 65504 is possible"));
  }
  return bits;
}

/// Errors: kInvalid, naming `format`, for weights that no scale can reach.
inline void check_magnitudes(const float* x, int count, const char* format) {
  for (int k = 0; k < count; ++k) {
    if (std::fabs(x[k]) <= kWeightMax) continue;
    throw Error(ErrorCode::kInvalid, cat("values too large for ", format, ": ", x[k]));
  }
}

}  // namespace ingot::k_search
