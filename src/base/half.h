// Conversions between float and 16-bit floats (IEEE binary16 and bfloat16), stored as integers.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace ingot {

/// Converts an IEEE binary16 to float, exactly. A signalling NaN becomes a quiet NaN, payload
/// unchanged.
INGOT_INLINE constexpr float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7FFFu;
  std::uint32_t bits = 0;
  if (magnitude < 0x0400u) {
    // A subnormal half has the value magnitude * 2^-24. A float holds this product exactly.
    bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(magnitude) * 0x1p-24f);
  } else if (magnitude < 0x7C00u) {
    bits = (magnitude << 13) + ((127u - 15u) << 23);
  } else {
    bits = 0x7F800000u | ((magnitude & 0x03FFu) << 13);
    if (magnitude > 0x7C00u) bits |= 0x00400000u;
  }
  return __builtin_bit_cast(float, sign | bits);
}

/// Rounds to the nearest IEEE binary16, ties to even. Magnitudes of 65520 and above become Inf. NaN
/// becomes a quiet NaN with the high bits of the payload.
INGOT_INLINE constexpr std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u | ((magnitude >> 13) & 0x03FFu);
  } else if (magnitude >= 0x477FF000u) {
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {
    const std::uint32_t rounded = magnitude + 0x0FFFu + ((magnitude >> 13) & 1u);
    half = (rounded - ((127u - 15u) << 23)) >> 13;
  } else {
    // Here |value| is below 2^-14, so the last bit of the sum 0.5 + |value| has the value 2^-24.
    // This is the unit of subnormal halves, so the addition rounds to this unit.
    const float sum = __builtin_bit_cast(float, magnitude) + 0.5f;
    half = __builtin_bit_cast(std::uint32_t, sum) - 0x3F000000u;
  }
  return static_cast<std::uint16_t>(sign | half);
}

/// Converts a bfloat16 to float, exactly. A signalling NaN becomes a quiet NaN, payload unchanged.
INGOT_INLINE constexpr float bfloat16_to_float(std::uint16_t bfloat) {
  std::uint32_t bits = static_cast<std::uint32_t>(bfloat) << 16;
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) bits |= 0x00400000u;
  return __builtin_bit_cast(float, bits);
}

/// Rounds to the nearest bfloat16, ties to even, denormals included. NaN becomes a quiet NaN.
INGOT_INLINE constexpr std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x0040u);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// The smallest magnitude that `rounded_bfloat16` keeps. A product of two kept numbers is a
/// multiple of 2^-110, so no sum of products is a denormal: units that flush denormals give the
/// same sums.
inline constexpr float kBfloat16Least = 0x1p-48f;

/// From this magnitude on, rounding to bfloat16 gives infinity.
inline constexpr float kBfloat16Overflow = 0x1.FFp127f;

/// bf16(x) of `Backend::linear` and `Backend::attention`: +0 if |x| is below 2^-48, else the
/// nearest bfloat16, ties to even. NaN, infinity and what would round to infinity become the quiet
/// NaN.
INGOT_INLINE constexpr std::uint16_t rounded_bfloat16(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const float magnitude = __builtin_bit_cast(float, bits & 0x7FFFFFFFu);
  if (magnitude < kBfloat16Least) return 0;
  if (!(magnitude < kBfloat16Overflow)) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

/// A bfloat16 weight as kernels multiply it: +0 if its magnitude is below 2^-48, else unchanged.
INGOT_INLINE constexpr std::uint16_t kept_bfloat16(std::uint16_t weight) {
  constexpr std::uint16_t kLeast = (127 - 48) << 7;
  return (weight & 0x7FFFu) < kLeast ? std::uint16_t{0} : weight;
}

}  // namespace ingot
