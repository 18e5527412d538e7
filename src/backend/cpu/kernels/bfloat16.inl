// Rounding to bfloat16, and pairs of bfloat16, over a lanes type L (backend.h, `linear`).
#pragma once

#include <cstddef>

#include "base/half.h"
#include "base/inline.h"

namespace ingot {
namespace {

/// rounded_bfloat16 of each lane, as a float.
template <class L>
INGOT_INLINE typename L::F round_bfloat16(typename L::F x) {
  const auto bits = L::bits(x);
  const auto magnitude = L::from_bits(L::and_int(bits, L::splat_int(0x7FFFFFFF)));
  const auto odd = L::and_int(L::template shr<16>(bits), L::splat_int(1));
  const auto up = L::add_int(bits, L::add_int(odd, L::splat_int(0x7FFF)));
  const auto rounded = L::from_bits(L::and_int(up, L::splat_int(-0x10000)));
  const auto nan = L::splat(__builtin_nanf(""));
  const auto finite = L::select(L::lt(magnitude, L::splat(kBfloat16Overflow)), rounded, nan);
  return L::select(L::lt(magnitude, L::splat(kBfloat16Least)), L::splat(0), finite);
}

/// round_bfloat16 of numbers from 0 to 1, or of NaN whose last 16 bits are 0.
template <class L>
INGOT_INLINE typename L::F round_share(typename L::F x) {
  const auto bits = L::bits(x);
  const auto odd = L::and_int(L::template shr<16>(bits), L::splat_int(1));
  const auto up = L::add_int(bits, L::add_int(odd, L::splat_int(0x7FFF)));
  const auto rounded = L::from_bits(L::and_int(up, L::splat_int(-0x10000)));
  return L::select(L::lt(x, L::splat(kBfloat16Least)), L::splat(0), rounded);
}

// Some lanes have products of two pairs: `dot_pairs(sum, w, x)` is, in each lane,
//
//     fma(lower half of w, lower half of *x, fma(upper half of w, upper half of *x, sum))
//
// where *x is one word for all lanes. A word holds two consecutive elements of the same chain, the
// earlier one in its upper half. `even_words(a, b)` and `odd_words(a, b)` are the words of pairs a
// and b. `factor_words(a, b)` are the words of 32 numbers: eight of even elements, then eight of
// odd ones.

/// Whether lanes L add two products to a chain at once. Other lanes add one.
template <class L>
inline constexpr bool kDotsPairs = requires(typename L::F sum, typename L::I w, const float* x) {
  L::dot_pairs(sum, w, x);
};

/// Where the words of odd elements begin in the factors of a block.
inline constexpr int kOddWords = 8;

/// Writes 32 rounded numbers, in the form in which kernels multiply a block with them: as floats,
/// or as words in the first 16 floats.
template <class L>
INGOT_INLINE void store_factors(float* to, typename L::F first, typename L::F second) {
  if constexpr (kDotsPairs<L>) {
    L::store(to, L::from_bits(L::factor_words(first, second)));
  } else {
    L::store(to, first);
    L::store(to + 16, second);
  }
}

/// 16 pairs of bfloat16: 64 bytes.
template <class L>
INGOT_INLINE typename L::I load_pairs(const std::byte* p) {
  return L::bits(L::load(reinterpret_cast<const float*>(p)));
}

/// Element 0 of each pair, as a float.
template <class L>
INGOT_INLINE typename L::F even_of(typename L::I pairs) {
  return L::from_bits(L::template shl<16>(pairs));
}

/// Element 1 of each pair, as a float.
template <class L>
INGOT_INLINE typename L::F odd_of(typename L::I pairs) {
  return L::from_bits(L::and_int(pairs, L::splat_int(-0x10000)));
}

}  // namespace
}  // namespace ingot
