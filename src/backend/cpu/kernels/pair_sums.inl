// Dot products for processors that can only add byte products in 16-bit pairs (AVX2's maddubs).
//
// Codes of few bits leave room for several pairs in 16 bits, which then share one widening. Codes
// of eight bits are multiplied as two planes of four bits. Integer sums that fit are exact in any
// order.
//
// Written over a lanes type L with kPairSums: its bytes and its integers are two registers V each.
// This file computes one after the other, since the sums of a few rows fill half of the registers.
#pragma once

#include "backend/cpu/kernels/panel_codes.inl"
#include "backend/cpu/kernels/quantised_rows.inl"

namespace ingot {
namespace {

/// How the bytes of a kind of group are summed in pairs.
template <class L, class Kind>
struct PairSums {
  static constexpr int kLargestCode = Codes<L, typename Kind::Format>::kLargest;
  /// 2: a byte is multiplied as two planes of four bits. 1: a byte is multiplied as it is.
  static constexpr int kPlanes = kLargestCode > 127 ? 2 : 1;
  /// Number of quads that can be added in 16 bits before sums are widened. Each quad adds two
  /// products with factors up to 127.
  static constexpr int kQuads = [] {
    const int largest = kPlanes == 2 ? 15 : kLargestCode;
    int quads = 8 / Kind::kScales;
    while (quads * 2 * 127 * largest > 32767) quads /= 2;
    return quads;
  }();
  static_assert(kQuads > 0 && !Kind::kSigned);
};

/// Adds the pairs of quads [kQuad, kEnd) to 16-bit sums; the first quad begins them.
template <class L, int kHalf, int kQuad, int kEnd, bool kFirst, int kPlanes, int kRows, class Group>
INGOT_INLINE void sum_quads(const Group& group, const QuantisedRows<kRows>& x,
                            typename L::V (&sums)[kPlanes][kRows]) {
  if constexpr (kQuad < kEnd) {
    typename L::V w[kPlanes];
    w[0] = L::template half<kHalf>(group.template quad<kQuad>());
    if constexpr (kPlanes == 2) {
      w[1] = L::high_nibbles(w[0]);
      w[0] = L::low_nibbles(w[0]);
    }
    for (int r = 0; r < kRows; ++r) {
      const typename L::V four = L::splat_four(x.of(r).q[kQuad][x.at(r)]);
      for (int plane = 0; plane < kPlanes; ++plane) {
        const auto pairs = L::pairs_of(w[plane], four);
        sums[plane][r] = kFirst ? pairs : L::add_pairs(sums[plane][r], pairs);
      }
    }
    sum_quads<L, kHalf, kQuad + 1, kEnd, false>(group, x, sums);
  }
}

/// Adds the products of quads from kQuad on, to one register of each sum.
template <class L, int kHalf, int kQuad, int kRows, class Group>
INGOT_INLINE void dot_pairs_of(const Group& group, const QuantisedRows<kRows>& x,
                               typename L::I (*i)[Group::Kind::kScales]) {
  if constexpr (kQuad < 8) {
    using Kind = typename Group::Kind;
    using Sums = PairSums<L, Kind>;
    constexpr int kEnd = kQuad + Sums::kQuads;
    constexpr int j = Kind::kScales == 2 ? kQuad / 4 : 0;
    typename L::V sums[Sums::kPlanes][kRows];
    sum_quads<L, kHalf, kQuad, kEnd, true>(group, x, sums);
    for (int r = 0; r < kRows; ++r) {
      L::template widen<kHalf, 1>(i[r][j], sums[0][r]);
      if constexpr (Sums::kPlanes == 2) L::template widen<kHalf, 16>(i[r][j], sums[1][r]);
    }
    dot_pairs_of<L, kHalf, kEnd, kRows>(group, x, i);
  }
}

/// Adds the integer dot products of a group of a panel: i[r][j] over its bytes.
template <class L, int kRows, class Group>
INGOT_INLINE void dot_pairs(const Group& group, const QuantisedRows<kRows>& x,
                            typename L::I (*i)[Group::Kind::kScales]) {
  dot_pairs_of<L, 0, 0, kRows>(group, x, i);
  if constexpr (kRows == 1) {
    dot_pairs_of<L, 1, 0, kRows>(group, x, i);
  } else {
    // The operands of several rows would not stay in registers.
    dot_pairs_of<L, 1, 0, kRows>(group, x.read_anew(), i);
  }
}

}  // namespace
}  // namespace ingot
