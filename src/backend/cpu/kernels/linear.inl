// Rows times one panel of 16 outputs, for every weight format: backend.h, `linear`.
//
// Written over a lanes type L; included by the file of each instruction set. The same code serves
// one row and many: only the number of rows that share a pass over the panel differs, and no sum
// crosses rows.
#pragma once

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/stretch.inl"
#include "backend/cpu/panel.h"
#include "base/inline.h"

namespace ingot {
namespace {

/// A K segment: each is summed in a chain of its own.
inline constexpr std::int64_t kSegment = 1024;

/// The totals of kRows rows over the segments of K.
template <class L, int kRows>
struct Totals {
  alignas(64) float y[kRows][kPanelCols] = {};

  /// Adds the segment that begins at element `k`.
  INGOT_INLINE void add(std::int64_t k, const typename L::F* acc) {
    for (int r = 0; r < kRows; ++r) {
      L::store(y[r], k == 0 ? acc[r] : L::add(L::load(y[r]), acc[r]));
    }
  }
  INGOT_INLINE void store(const PanelArgs& a, std::int64_t row) const {
    for (int r = 0; r < kRows; ++r) {
      typename L::F sum = L::load(y[r]);
      if (a.bias != nullptr) sum = L::add(sum, L::load(a.bias, a.columns));
      L::store(a.out + (row + r) * a.out_stride, sum, a.columns);
    }
  }
};

template <class L, int kRows>
INGOT_INLINE void clear(typename L::F* acc) {
  for (int r = 0; r < kRows; ++r) acc[r] = L::splat(0);
}

/// Where the segment that begins at `k` ends.
INGOT_INLINE std::int64_t segment_end(std::int64_t k, std::int64_t cols) {
  return k + kSegment < cols ? k + kSegment : cols;
}

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

/// Scales and minimums of a group: w_j of exactness.md, and what the inputs' negative sum is
/// multiplied by, m_j or -m_j; exact products.
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

/// How weights of format F enter L's dot products: as value + kOffset, which is not negative, or,
/// where L cannot multiply unsigned bytes above 127, as the signed value itself.
template <class L, class F>
struct Codes {
  using P = Panel<F>;
  /// A power of two, so that what it adds to a sum is a shift.
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
  static constexpr bool kSigned = L::kWideSigned && kLargest > 127;
  static_assert(P::kTable || !kSigned || (F::kBits == 8 && P::kZero == 128));
  static constexpr int kOffset = kSigned ? 0 : kUnsignedOffset;

  /// Code to byte, for formats that have a table.
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
    return L::template join<P::kLowBits>(
        code, L::template field<P::kHighBits*(kQuad % kHighPer), (1 << P::kHighBits) - 1>(high));
  } else if constexpr (Codes<L, F>::kSigned) {
    return L::flip_sign(code);
  } else {
    return code;
  }
}

/// kRows rows of quantised activations, a multiple or a divisor of a tile's: one pointer a tile.
template <int kRows>
struct QuantisedRows {
  static constexpr int kTiles = (kRows + kTileRows - 1) / kTileRows;
  static_assert(kRows % kTileRows == 0 || kTileRows % kRows == 0);
  const QuantisedGroup* tile[kTiles];
  std::int64_t first = 0;  ///< row of the tile that row 0 is

  INGOT_INLINE QuantisedRows(const PanelArgs& a, std::int64_t row) : first(row % kTileRows) {
    const std::int64_t groups = a.cols / kGroup;
    for (int t = 0; t < kTiles; ++t) tile[t] = a.q + (row / kTileRows + t) * groups;
  }
  INGOT_INLINE const QuantisedGroup& of(int r) const { return *tile[r / kTileRows]; }
  INGOT_INLINE std::int64_t at(int r) const { return first + r % kTileRows; }
  INGOT_INLINE void next_group() {
    for (int t = 0; t < kTiles; ++t) ++tile[t];
  }
};

/// Integer dot products of a group: i[r][j] over the bytes that load_quad gives.
template <class L, class F, int kRows, int kQuad>
INGOT_INLINE void dot_quads(const unsigned char* planes, const QuantisedRows<kRows>& x,
                            typename L::I (*i)[F::kScales]) {
  if constexpr (kQuad < 8) {
    const auto w = load_quad<L, F, kQuad>(planes);
    constexpr int j = F::kScales == 2 ? kQuad / 4 : 0;
    for (int r = 0; r < kRows; ++r) {
      i[r][j] = L::template dot<Codes<L, F>::kSigned>(i[r][j], w, x.of(r).q[kQuad][x.at(r)]);
    }
    dot_quads<L, F, kRows, kQuad + 1>(planes, x, i);
  }
}

/// -offset * sum of the inputs that share scale j: what makes a dot product over shifted weights
/// the one over their values.
template <class L, class F, int kRows>
INGOT_INLINE typename L::I correction(const QuantisedRows<kRows>& x, int r, int j) {
  constexpr int kOffset = Codes<L, F>::kOffset;
  if constexpr (kOffset == 0) {
    return L::splat_int(0);
  } else {
    constexpr int kShift = __builtin_ctz(kOffset);
    const QuantisedGroup& g = x.of(r);
    return L::template shl<kShift>(
        L::splat_int(F::kScales == 2 ? g.minus_half[j][x.at(r)] : g.minus_sum[x.at(r)]));
  }
}

/// t plus the part of the minimums: fma(-m_j, s_j, t), or +m_j.
template <class L, class F, int kRows>
INGOT_INLINE typename L::F add_minimums(const GroupScales<L, F>& s, const QuantisedRows<kRows>& x,
                                        int r, typename L::F t) {
  const QuantisedGroup& g = x.of(r);
  if constexpr (F::kScales == 1) {
    return L::fma(s.m[0], L::splat(g.minus_sum_float[x.at(r)]), t);
  } else {
    for (int j = 0; j < 2; ++j) {
      t = L::fma(s.m[j], L::to_float(L::splat_int(g.minus_half[j][x.at(r)])), t);
    }
    return t;
  }
}

/// acc += one group of 32, for each row.
template <class L, class F, int kRows>
INGOT_INLINE void add_group(const GroupScales<L, F>& s, const unsigned char* planes,
                            const QuantisedRows<kRows>& x, typename L::F* acc) {
  typename L::I i[kRows][F::kScales];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < F::kScales; ++j) i[r][j] = correction<L, F, kRows>(x, r, j);
  }
  dot_quads<L, F, kRows, 0>(planes, x, i);
  for (int r = 0; r < kRows; ++r) {
    auto t = L::mul(L::to_float(i[r][0]), s.w[0]);
    if constexpr (F::kScales == 2) t = L::fma(L::to_float(i[r][1]), s.w[1], t);
    if constexpr (Panel<F>::kHasMin) t = add_minimums<L, F, kRows>(s, x, r, t);
    acc[r] = L::fma(t, L::splat(x.of(r).d[x.at(r)]), acc[r]);
  }
}

/// acc += one block of a panel: its groups in turn.
template <class L, class F, int kRows>
INGOT_INLINE void add_block(const unsigned char* p, QuantisedRows<kRows>& x, typename L::F* acc) {
  using P = Panel<F>;
  typename L::F d, m = L::splat(0);
  if constexpr (P::kScaleBytes == 1) {
    d = load_e8m0<L>(p);
  } else {
    d = L::load_half(p);
  }
  if constexpr (P::kHasMin) m = L::load_half(p + P::kScaleBytes * kPanelCols);
  p += P::kHeaderBytes;
#pragma GCC unroll 1
  for (int g = 0; g < P::kGroups; ++g, p += P::kGroupBytes) {
    const GroupScales<L, F> scales(d, m, p);
    add_group<L, F, kRows>(scales, p + P::kGroupScaleBytes + P::kGroupMinBytes, x, acc);
    x.next_group();
  }
}

template <class L, class F, int kRows>
INGOT_INLINE void block_rows(const PanelArgs& a, std::int64_t row) {
  Totals<L, kRows> totals;
  QuantisedRows<kRows> x(a, row);
  const auto* p = reinterpret_cast<const unsigned char*>(a.panel);
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    const std::int64_t end = segment_end(k, a.cols);
    typename L::F acc[kRows];
    clear<L, kRows>(acc);
    for (std::int64_t at = k; at < end; at += F::kBlock, p += Panel<F>::kBlockBytes) {
      add_block<L, F, kRows>(p, x, acc);
    }
    totals.add(k, acc);
  }
  totals.store(a, row);
}

template <class L, class F>
INGOT_INLINE typename L::F load_dense(const std::byte* p) {
  if constexpr (std::is_same_v<F, F32>) {
    return L::load(reinterpret_cast<const float*>(p));
  } else if constexpr (std::is_same_v<F, F16>) {
    return L::load_half(p);
  } else {
    return L::load_bfloat16(p);
  }
}

template <class L, class F, int kRows>
INGOT_INLINE void dense_rows(const PanelArgs& a, std::int64_t row) {
  constexpr std::int64_t kStep = kPanelCols * sizeof(typename F::Element);
  Totals<L, kRows> totals;
  const float* x[kRows];
  for (int r = 0; r < kRows; ++r) x[r] = a.x.row<const float>(row + r);
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    typename L::F acc[kRows];
    clear<L, kRows>(acc);
    const std::int64_t end = segment_end(k, a.cols);
    for (std::int64_t i = k; i < end; ++i) {
      const auto w = load_dense<L, F>(a.panel + i * kStep);
      for (int r = 0; r < kRows; ++r) acc[r] = L::fma(w, L::splat(x[r][i]), acc[r]);
    }
    totals.add(k, acc);
  }
  totals.store(a, row);
}

template <class L, class F, int kRows>
void some_rows(const PanelArgs& a, std::int64_t row) {
  if constexpr (BlockFormat<F>) {
    block_rows<L, F, kRows>(a, row);
  } else {
    dense_rows<L, F, kRows>(a, row);
  }
}

/// Rows that share a pass over a panel of F, as many as L has registers for.
template <class L, class F>
constexpr int rows_of() {
  if constexpr (BlockFormat<F>) {
    if (F::kScales == 2) return L::kLinearRowsTwoScales;
  }
  return L::kLinearRows;
}

/// Rows from `row` on through the panel, `kRows` at a time; returns the first that is left.
template <class L, class F, int kRows>
INGOT_INLINE std::int64_t rows_by(const PanelArgs& a, std::int64_t row) {
  for (; row + kRows <= a.rows; row += kRows) some_rows<L, F, kRows>(a, row);
  return row;
}

/// All rows of `a` through its panel.
template <class L, class F>
void linear_panel(const PanelArgs& a) {
  constexpr int kRows = rows_of<L, F>();
  std::int64_t row = rows_by<L, F, kRows>(a, 0);
  if constexpr (kRows > 4) row = rows_by<L, F, 4>(a, row);
  if constexpr (kRows > 2) row = rows_by<L, F, 2>(a, row);
  rows_by<L, F, 1>(a, row);
}

template <class L, class... Fs>
constexpr void set_linear(KernelTable& table, TypeList<Fs...>) {
  ((table.linear[static_cast<std::size_t>(Fs::kFormat)] = linear_panel<L, Fs>), ...);
}

}  // namespace
}  // namespace ingot
