// Decodes a group of a panel: its scales, minimums, and codes as bytes for dot products.
//
// Written over a lanes type L; included by the file of each instruction set.
#pragma once

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/tail_lanes.inl"
#include "backend/cpu/panel.h"
#include "base/inline.h"

namespace ingot {
namespace {

/// 2^(e - 128) of 16 bytes e, as two factors so that it is exact down to subnormals.
template <class L>
INGOT_INLINE typename L::F load_e8m0(const unsigned char* p) {
  const auto e = L::load_uint8(p);
  const auto half = L::template shr<1>(e);
  const auto bias = L::splat_int(63);
  const auto a = L::template shl<23>(L::add_int(half, bias));
  const auto b = L::template shl<23>(L::add_int(L::sub_int(e, half), bias));
  return L::mul(L::from_bits(a), L::from_bits(b));
}

/// Scales and minimums of a group: w_j of exactness.md, and the factor of the inputs' negative sum,
/// m_j or -m_j; exact products.
template <class L, class F>
struct GroupScales {
  typename L::F w[2];
  typename L::F m[2];

  INGOT_INLINE GroupScales(typename L::F d, typename L::F dmin, const unsigned char* group) {
    using P = Panel<F>;
    for (int j = 0; j < F::kScales; ++j) {
      static_assert(!F::kSubScales || F::kMinSign <= 0);
      if constexpr (!F::kSubScales) {
        w[j] = d;
        m[j] = F::kMinSign > 0 ? negate<L>(dmin) : dmin;
      } else if constexpr (P::kNibbleScales) {
        const auto both = L::load_uint8(group + kPanelCols * j);
        w[j] = L::mul(d, L::to_float(L::and_int(both, L::splat_int(15))));
        m[j] = L::mul(dmin, L::to_float(L::template shr<4>(both)));
      } else {
        w[j] = L::mul(d, L::to_float(L::load_int8(group + kPanelCols * j)));
        if constexpr (P::kHasMin) {
          const unsigned char* mins = group + P::kGroupScaleBytes + kPanelCols * j;
          m[j] = L::mul(dmin, L::to_float(L::load_uint8(mins)));
        }
      }
    }
  }
};

/// The bytes that stand for weights of format F in L's dot products: value + kOffset, which is not
/// negative. If L cannot multiply unsigned bytes above 127, they are the signed values.
template <class L, class F>
struct Codes {
  using P = Panel<F>;
  /// A power of two, so that its part of a sum is a shift.
  static constexpr int kUnsignedOffset = [] {
    int offset = P::kZero == 0 ? 0 : 1;
    while (offset < P::kZero) offset *= 2;
    return offset;
  }();
  static_assert(P::kTable || kUnsignedOffset == P::kZero);
  static constexpr int kLargest = [] {
    int largest = 0;
    for (int code = 0; code < (1 << F::kBits); ++code) {
      if (F::value(code) > largest) largest = F::value(code);
    }
    return largest + kUnsignedOffset;
  }();
  static constexpr bool kSigned = L::kWideSigned && !L::kPairSums && kLargest > 127;
  static_assert(P::kTable || !kSigned || (F::kBits == 8 && P::kZero == 128));
  static constexpr int kOffset = kSigned ? 0 : kUnsignedOffset;

  /// The byte of each code, for formats with a table.
  struct Table {
    std::uint8_t v[16] = {};
    constexpr Table() {
      for (int code = 0; P::kTable && code < 16; ++code) {
        v[code] = static_cast<std::uint8_t>(F::value(code) + kOffset);
      }
    }
  };
  static constexpr Table kBytes{};
};

/// The weights of quad `kQuad` as [16 outputs][4 along K] bytes.
template <class L, class F, int kQuad>
INGOT_INLINE typename L::B load_quad(const unsigned char* planes) {
  using P = Panel<F>;
  constexpr int kLowPer = 8 / P::kLowBits;
  const auto low = L::load_bytes(planes + 64 * (kQuad / kLowPer));
  const auto code = L::template field<P::kLowBits*(kQuad % kLowPer), (1 << P::kLowBits) - 1>(low);
  if constexpr (P::kTable) {
    return L::lookup(Codes<L, F>::kBytes.v, code);
  } else if constexpr (P::kHighBits != 0) {
    constexpr int kHighPer = 8 / P::kHighBits;
    const auto high = L::load_bytes(planes + P::kLowBytes + 64 * (kQuad / kHighPer));
    constexpr int kMask = ((1 << P::kHighBits) - 1) << P::kLowBits;
    return L::template join<P::kHighBits*(kQuad % kHighPer), P::kLowBits, kMask>(code, high);
  } else if constexpr (Codes<L, F>::kSigned) {
    return L::flip_sign(code);
  } else {
    return code;
  }
}

/// How a group's integers become floats: number of scales, whether there are minimums, whether
/// bytes are signed, and the exponent of the power of two that is added to unsigned bytes.
template <class F, bool kSignedOf, int kShiftOf, bool kBitsOf>
struct Product {
  using Format = F;
  static constexpr int kScales = F::kScales;
  static constexpr bool kHasMin = Panel<F>::kHasMin;
  static constexpr bool kSigned = kSignedOf;
  static constexpr int kShift = kShiftOf;  ///< exponent of that power of two; -1: nothing is added
  /// Whether the first scale's sum begins with kIntBits, so that no conversion to float is needed.
  static constexpr bool kBits = kBitsOf;
};

constexpr int shift_of(int offset) { return offset == 0 ? -1 : __builtin_ctz(unsigned(offset)); }

/// A group in a panel of F, in packed form.
template <class L, class F>
struct PackedGroup {
  using Codes = ingot::Codes<L, F>;
  using P = Panel<F>;
  static constexpr int kShift = shift_of(Codes::kOffset);
  /// True where kIntBits in a dot product's start costs no instruction. Exact: ExpandedKind.
  static constexpr bool kBits =
      P::kScaleBytes == 2 && (kShift < 0 || (F::kScales == 1 && (kShift == 3 || kShift == 7)));
  using Kind = Product<F, Codes::kSigned, kShift, kBits>;
  GroupScales<L, F> scales;
  const unsigned char* planes;

  INGOT_INLINE PackedGroup(typename L::F d, typename L::F dmin, const unsigned char* group)
      : scales(d, dmin, group), planes(group + P::kGroupScaleBytes + P::kGroupMinBytes) {}
  template <int kQuad>
  INGOT_INLINE typename L::B quad() const {
    return load_quad<L, F, kQuad>(planes);
  }
  INGOT_INLINE typename L::F w(int j) const { return scales.w[j]; }
  INGOT_INLINE typename L::F m(int j) const { return scales.m[j]; }
  /// Minus the part that kIntBits adds to the first product.
  INGOT_INLINE typename L::F minus_bits() const {
    return L::mul(scales.w[0], L::splat(-kFloatBits));
  }
};

/// A group that is unpacked once for many rows. Where L takes unsigned bytes above 127 in one
/// instruction, 128 is added to the values of every format. 16-bit scales have few enough bits that
/// 12582912 times them is exact, and are far from infinity.
template <class L, class F>
using ExpandedKind = Product<F, Codes<L, F>::kSigned,
                             Codes<L, F>::kOffset != 0 && !L::kWideSigned && !L::kPairSums
                                 ? 7
                                 : shift_of(Codes<L, F>::kOffset),
                             Panel<F>::kScaleBytes == 2>;

template <class L, class KindOf>
struct ExpandedGroup {
  using Kind = KindOf;
  alignas(64) std::uint8_t bytes[8][64];
  float scales[Kind::kScales][kPanelCols];
  float mins[Kind::kScales][Kind::kHasMin ? kPanelCols : 1];
  alignas(64) float bits[kPanelCols];  ///< PackedGroup::minus_bits

  template <int kQuad>
  INGOT_INLINE typename L::B quad() const {
    return L::load_bytes(bytes[kQuad]);
  }
  INGOT_INLINE typename L::F w(int j) const { return L::load(scales[j]); }
  INGOT_INLINE typename L::F m(int j) const { return L::load(mins[j]); }
  INGOT_INLINE typename L::F minus_bits() const { return L::load(bits); }
};

template <class L, class F, int kQuad>
INGOT_INLINE void expand_quads(const PackedGroup<L, F>& packed, std::uint8_t (*bytes)[64]) {
  if constexpr (kQuad < 8) {
    constexpr int kMore = ExpandedKind<L, F>::kShift == 7 ? 128 - Codes<L, F>::kOffset : 0;
    L::store_bytes(bytes[kQuad], L::template add_bytes<kMore>(packed.template quad<kQuad>()));
    expand_quads<L, F, kQuad + 1>(packed, bytes);
  }
}

/// Stores all of a group except its bytes.
template <class L, class F, class Group>
INGOT_INLINE void store_scales(const PackedGroup<L, F>& packed, Group& out) {
  for (int j = 0; j < F::kScales; ++j) {
    L::store(out.scales[j], packed.w(j));
    if constexpr (Panel<F>::kHasMin) L::store(out.mins[j], packed.m(j));
  }
  if constexpr (Group::Kind::kBits) {
    L::store(out.bits, packed.minus_bits());
  }
}

template <class L, class F>
INGOT_INLINE void expand_group(const PackedGroup<L, F>& packed,
                               ExpandedGroup<L, ExpandedKind<L, F>>& out) {
  expand_quads<L, F, 0>(packed, out.bytes);
  store_scales<L>(packed, out);
}

/// The scales and minimums in the header of a block of a panel.
template <class L, class F>
INGOT_INLINE typename L::F block_scale(const unsigned char* block) {
  if constexpr (Panel<F>::kScaleBytes == 1) {
    return load_e8m0<L>(block);
  } else {
    return L::load_half(block);
  }
}
template <class L, class F>
INGOT_INLINE typename L::F block_min(const unsigned char* block) {
  if constexpr (Panel<F>::kHasMin) {
    return L::load_half(block + Panel<F>::kScaleBytes * kPanelCols);
  } else {
    return L::splat(0);
  }
}

/// Calls fn(group) for each group of a block of a panel, in order.
template <class L, class F, class Fn>
INGOT_INLINE void for_groups(const unsigned char* p, Fn fn) {
  using P = Panel<F>;
  const typename L::F d = block_scale<L, F>(p);
  const typename L::F m = block_min<L, F>(p);
  p += P::kHeaderBytes;
#pragma GCC unroll 1
  for (int g = 0; g < P::kGroups; ++g, p += P::kGroupBytes) fn(PackedGroup<L, F>(d, m, p));
}

}  // namespace
}  // namespace ingot
