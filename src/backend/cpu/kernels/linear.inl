// Rows times one panel of 16 outputs, for every weight format: backend.h, `linear`.
//
// Written over a lanes type L; included by the file of each instruction set. The same code serves
// one row and many: only the number of rows that share a pass over the panel differs, and no sum
// crosses rows.
#pragma once

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/panel.h"
#include "base/inline.h"

namespace ingot {
namespace {

/// Weights in groups of 32 (or single ones) of a K segment: 1,024 along K.
inline constexpr std::int64_t kSegment = 1024;

/// Running sums of up to kRows rows: one accumulator a segment, one total.
template <class L, int kRows>
struct Sums {
  typename L::F acc[kRows];
  typename L::F total[kRows];

  INGOT_INLINE Sums() {
    for (int r = 0; r < kRows; ++r) acc[r] = total[r] = L::splat(0);
  }
  /// Ends the segment that stops at `end` elements of K.
  INGOT_INLINE void close_segment(std::int64_t end) {
    for (int r = 0; r < kRows; ++r) {
      total[r] = end <= kSegment ? acc[r] : L::add(total[r], acc[r]);
      acc[r] = L::splat(0);
    }
  }
  INGOT_INLINE void store(const PanelArgs& a, std::int64_t row) const {
    for (int r = 0; r < kRows; ++r) {
      typename L::F y = total[r];
      if (a.bias != nullptr) y = L::add(y, L::load(a.bias, a.columns));
      L::store(a.out + (row + r) * a.out_stride, y, a.columns);
    }
  }
};

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

/// Scales and minimums of a group: w_j and m_j of exactness.md, exact products.
template <class L, class F>
struct GroupScales {
  typename L::F w[2];
  typename L::F m[2];

  INGOT_INLINE GroupScales(typename L::F d, typename L::F dmin, const unsigned char* group) {
    using P = Panel<F>;
    for (int j = 0; j < F::kScales; ++j) {
      if constexpr (!F::kSubScales) {
        w[j] = d;
        m[j] = dmin;
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

/// The codes of quad `kQuad` made unsigned values: value + Panel::kZero, as [16 outputs][4 along
/// K].
template <class L, class F, int kQuad>
INGOT_INLINE typename L::B load_quad(const unsigned char* planes, const unsigned char* table) {
  using P = Panel<F>;
  constexpr int kLowPer = 8 / P::kLowBits;
  const auto low = L::load_bytes(planes + 64 * (kQuad / kLowPer));
  const auto code = L::template field<P::kLowBits*(kQuad % kLowPer), (1 << P::kLowBits) - 1>(low);
  if constexpr (P::kTable) {
    return L::lookup(table, code);
  } else if constexpr (P::kHighBits != 0) {
    constexpr int kHighPer = 8 / P::kHighBits;
    const auto high = L::load_bytes(planes + P::kLowBytes + 64 * (kQuad / kHighPer));
    return L::template join<P::kLowBits>(
        code, L::template field<P::kHighBits*(kQuad % kHighPer), (1 << P::kHighBits) - 1>(high));
  } else {
    return code;
  }
}

/// Code to unsigned value for table formats.
template <class F>
struct ValueTable {
  unsigned char v[16] = {};
  constexpr ValueTable() {
    if constexpr (Panel<F>::kTable) {
      for (int code = 0; code < 16; ++code) {
        v[code] = static_cast<unsigned char>(F::value(code) + Panel<F>::kZero);
      }
    }
  }
};
template <class F>
inline constexpr ValueTable<F> kValueTable{};

/// Integer dot products of a group: i[r][j] over the unsigned values.
template <class L, class F, int kRows, int kQuad>
INGOT_INLINE void dot_quads(const unsigned char* planes, const std::int8_t* const* x,
                            typename L::I (*i)[2]) {
  if constexpr (kQuad < 8) {
    const auto u = load_quad<L, F, kQuad>(planes, kValueTable<F>.v);
    constexpr int j = F::kScales == 2 ? kQuad / 4 : 0;
    for (int r = 0; r < kRows; ++r) i[r][j] = L::dot(i[r][j], u, x[r] + 4 * kQuad);
    dot_quads<L, F, kRows, kQuad + 1>(planes, x, i);
  }
}

/// acc += one group of 32, for each row.
template <class L, class F, int kRows>
INGOT_INLINE void add_group(const GroupScales<L, F>& s, const unsigned char* planes,
                            const PanelArgs& a, std::int64_t row, std::int64_t group,
                            typename L::F* acc) {
  using P = Panel<F>;
  const std::int8_t* x[kRows];
  const std::int32_t* sums[kRows];
  typename L::I i[kRows][2];
  for (int r = 0; r < kRows; ++r) {
    x[r] = a.q.q + (row + r) * a.cols + group * kGroup;
    sums[r] = a.q.sums + ((row + r) * a.cols + group * kGroup) / 16;
    for (int j = 0; j < F::kScales; ++j) {
      const std::int32_t sum = F::kScales == 2 ? sums[r][j] : sums[r][0] + sums[r][1];
      i[r][j] = L::splat_int(-P::kZero * sum);
    }
  }
  dot_quads<L, F, kRows, 0>(planes, x, i);
  for (int r = 0; r < kRows; ++r) {
    auto t = L::mul(L::to_float(i[r][0]), s.w[0]);
    if constexpr (F::kScales == 2) t = L::fma(L::to_float(i[r][1]), s.w[1], t);
    if constexpr (P::kHasMin) {
      for (int j = 0; j < F::kScales; ++j) {
        const std::int32_t sum = F::kScales == 2 ? sums[r][j] : sums[r][0] + sums[r][1];
        t = L::fma(s.m[j], L::splat(static_cast<float>(F::kMinSign * sum)), t);
      }
    }
    const float d = a.q.d[(row + r) * (a.cols / kGroup) + group];
    acc[r] = L::fma(t, L::splat(d), acc[r]);
  }
}

template <class L, class F, int kRows>
INGOT_INLINE void block_rows(const PanelArgs& a, std::int64_t row) {
  using P = Panel<F>;
  Sums<L, kRows> sums;
  const auto* p = reinterpret_cast<const unsigned char*>(a.panel);
  const std::int64_t groups = a.cols / kGroup;
  std::int64_t group = 0;
  while (group < groups) {
    typename L::F d, m = L::splat(0);
    if constexpr (P::kScaleBytes == 1) {
      d = load_e8m0<L>(p);
    } else {
      d = L::load_half(p);
    }
    if constexpr (P::kHasMin) m = L::load_half(p + P::kScaleBytes * kPanelCols);
    p += P::kHeaderBytes;
    for (int g = 0; g < P::kGroups; ++g, ++group, p += P::kGroupBytes) {
      const GroupScales<L, F> scales(d, m, p);
      const unsigned char* planes = p + P::kGroupScaleBytes + P::kGroupMinBytes;
      add_group<L, F, kRows>(scales, planes, a, row, group, sums.acc);
      const std::int64_t end = (group + 1) * kGroup;
      if (end % kSegment == 0 || end == a.cols) sums.close_segment(end);
    }
  }
  sums.store(a, row);
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
  Sums<L, kRows> sums;
  const float* x[kRows];
  for (int r = 0; r < kRows; ++r) x[r] = a.x.row<const float>(row + r);
  constexpr std::int64_t kStep = kPanelCols * sizeof(typename F::Element);
  for (std::int64_t k = 0; k < a.cols;) {
    const std::int64_t end = k + kSegment < a.cols ? k + kSegment : a.cols;
    for (; k < end; ++k) {
      const auto w = load_dense<L, F>(a.panel + k * kStep);
      for (int r = 0; r < kRows; ++r) sums.acc[r] = L::fma(w, L::splat(x[r][k]), sums.acc[r]);
    }
    sums.close_segment(end);
  }
  sums.store(a, row);
}

template <class L, class F, int kRows>
INGOT_INLINE void some_rows(const PanelArgs& a, std::int64_t row) {
  if constexpr (BlockFormat<F>) {
    block_rows<L, F, kRows>(a, row);
  } else {
    dense_rows<L, F, kRows>(a, row);
  }
}

/// All rows of `a` through its panel, kRows at a time and the rest one by one.
template <class L, class F, int kRows>
void linear_panel(const PanelArgs& a) {
  std::int64_t row = 0;
  for (; row + kRows <= a.rows; row += kRows) some_rows<L, F, kRows>(a, row);
  for (; row < a.rows; ++row) some_rows<L, F, 1>(a, row);
}

template <class L, int kRows, class... Fs>
constexpr void set_linear(KernelTable& table, TypeList<Fs...>) {
  ((table.linear[static_cast<std::size_t>(Fs::kFormat)] = linear_panel<L, Fs, kRows>), ...);
}

}  // namespace
}  // namespace ingot
