// The lanes concept: vector operations of any width, for deterministic math and kernels.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace ingot {

/// The lanes type with one lane. Its functions define what each operation computes.
///
/// A lanes type L has vectors of floats L::F and of 32-bit integers L::I with equal width, a mask
/// L::M, and the static functions below. Every lanes type computes exactly these IEEE results in
/// each lane (round to nearest even), so an algorithm written for L gives equal bits for every L.
/// `fma` rounds once.
struct OneLane {
  using F = float;
  using I = std::int32_t;
  using M = bool;
  static constexpr int kWidth = 1;

  INGOT_INLINE static F splat(float v) { return v; }
  INGOT_INLINE static I splat_int(std::int32_t v) { return v; }
  INGOT_INLINE static F add(F a, F b) { return a + b; }
  INGOT_INLINE static F sub(F a, F b) { return a - b; }
  INGOT_INLINE static F mul(F a, F b) { return a * b; }
  INGOT_INLINE static F div(F a, F b) { return a / b; }
  INGOT_INLINE static F fma(F a, F b, F c) { return __builtin_fmaf(a, b, c); }
  INGOT_INLINE static F sqrt(F a) { return __builtin_sqrtf(a); }

  /// `lt` and `le` return false if either operand is NaN.
  INGOT_INLINE static M lt(F a, F b) { return a < b; }
  INGOT_INLINE static M le(F a, F b) { return a <= b; }
  INGOT_INLINE static F select(M m, F yes, F no) { return m ? yes : no; }
  /// Returns the larger operand; b if the operands are equal or either operand is NaN.
  INGOT_INLINE static F max(F a, F b) { return a > b ? a : b; }

  INGOT_INLINE static I bits(F a) { return __builtin_bit_cast(I, a); }
  INGOT_INLINE static F from_bits(I a) { return __builtin_bit_cast(F, a); }
  /// Sums and differences wrap around. `shr` fills with zeros, `sar` with copies of the sign bit.
  INGOT_INLINE static I add_int(I a, I b) {
    return static_cast<I>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
  INGOT_INLINE static I sub_int(I a, I b) {
    return static_cast<I>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
  }
  INGOT_INLINE static I and_int(I a, I b) { return a & b; }
  INGOT_INLINE static I or_int(I a, I b) { return a | b; }
  template <int n>
  INGOT_INLINE static I shl(I a) {
    return static_cast<I>(static_cast<std::uint32_t>(a) << n);
  }
  template <int n>
  INGOT_INLINE static I shr(I a) {
    return static_cast<I>(static_cast<std::uint32_t>(a) >> n);
  }
  template <int n>
  INGOT_INLINE static I sar(I a) {
    return a >> n;
  }
  /// Converts to float: exact for |a| < 2^24, else rounded to nearest even.
  INGOT_INLINE static F to_float(I a) { return static_cast<F>(a); }
};

}  // namespace ingot
