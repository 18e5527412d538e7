// Helpers for vectors with fewer than 16 elements at the end of a row, and negation.
#pragma once

#include "base/inline.h"

namespace ingot {
namespace {

/// The lane numbers 0 to 15 as floats.
inline constexpr float kLaneIndex[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// A vector with `a` in lanes [0, n) and `rest` in the others.
template <class L>
INGOT_INLINE typename L::F blend(typename L::F a, int n, typename L::F rest) {
  const auto in = L::lt(L::load(kLaneIndex), L::splat(static_cast<float>(n)));
  return L::select(in, a, rest);
}

/// Loads lanes [0, n) from memory, and sets the others to `rest`.
template <class L>
INGOT_INLINE typename L::F load_or(const float* p, int n, typename L::F rest) {
  return blend<L>(L::load(p, n), n, rest);
}

/// A vector with `a` in lanes [0, n) and +0 in the others.
template <class L>
INGOT_INLINE typename L::F first_lanes(typename L::F a, int n) {
  return blend<L>(a, n, L::splat(0));
}

/// -a, exactly (also of zeros).
template <class L>
INGOT_INLINE typename L::F negate(typename L::F a) {
  return L::mul(a, L::splat(-1));
}

}  // namespace
}  // namespace ingot
