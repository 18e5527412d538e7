// Rows times one panel of 16 outputs, for every weight format: backend.h, `linear`.
//
// Written over a lanes type L; included by the file of each instruction set. The same code serves
// one row and many: only the number of rows that share a pass over the panel differs, and whether
// the panel's groups are unpacked as they are read or once for all rows. No sum crosses rows.
#pragma once

#include "backend/cpu/kernels/panel_codes.inl"

namespace ingot {
namespace {

/// A K segment: each is summed in a chain of its own.
inline constexpr std::int64_t kSegment = 1024;
/// Up to so many rows a panel is unpacked as it is read, again for each pass.
template <int kRowsOfPass>
inline constexpr std::int64_t kFewRows = kRowsOfPass > 5 ? 2 * kRowsOfPass : 5;

template <class L, int kRows>
INGOT_INLINE void clear(typename L::F* acc) {
  for (int r = 0; r < kRows; ++r) acc[r] = L::splat(0);
}

/// Where the segment that begins at `k` ends.
INGOT_INLINE std::int64_t segment_end(std::int64_t k, std::int64_t cols) {
  return k + kSegment < cols ? k + kSegment : cols;
}

/// Adds the sums of the segment that begins at `k` to the outputs of rows [row, row + kRows).
template <class L, int kRows>
INGOT_INLINE void add_segment(const PanelArgs& a, std::int64_t row, std::int64_t k,
                              const typename L::F* acc) {
  const bool last = k + kSegment >= a.cols;
  for (int r = 0; r < kRows; ++r) {
    float* out = a.out + (row + r) * a.out_stride;
    typename L::F sum = acc[r];
    if (k != 0) sum = L::add(L::load(out, a.columns), sum);
    if (last && a.bias != nullptr) sum = L::add(sum, L::load(a.bias, a.columns));
    L::store(out, sum, a.columns);
  }
}

/// Panel `p` of those of `a`.
INGOT_INLINE PanelArgs panel_of(PanelArgs a, int p) {
  a.panel += p * a.panel_bytes;
  a.out += p * kPanelCols;
  if (a.bias != nullptr) a.bias += p * kPanelCols;
  a.columns -= p * kPanelCols;
  if (a.columns > kPanelCols) a.columns = kPanelCols;
  return a;
}

/// kRows rows of quantised activations, a multiple or a divisor of a tile's: one pointer a tile.
template <int kRows>
struct QuantisedRows {
  static constexpr int kTiles = (kRows + kTileRows - 1) / kTileRows;
  static_assert(kRows % kTileRows == 0 || kTileRows % kRows == 0);
  const QuantisedGroup* tile[kTiles];
  std::int64_t first = 0;  ///< row of the tile that row 0 is

  /// Rows from `row` on, at the group of element `k`.
  INGOT_INLINE QuantisedRows(const PanelArgs& a, std::int64_t row, std::int64_t k)
      : first(row % kTileRows) {
    const std::int64_t groups = a.cols / kGroup;
    for (int t = 0; t < kTiles; ++t) tile[t] = a.q + (row / kTileRows + t) * groups + k / kGroup;
  }
  INGOT_INLINE const QuantisedGroup& of(int r) const { return *tile[r / kTileRows]; }
  INGOT_INLINE std::int64_t at(int r) const { return first + r % kTileRows; }
  INGOT_INLINE void next_group() {
    for (int t = 0; t < kTiles; ++t) ++tile[t];
  }
};

/// Integer dot products of a group of each panel: i[p][r][j] over its bytes.
template <class L, int kPanels, int kRows, int kQuad, class Group>
INGOT_INLINE void dot_quads(const Group* const* group, const QuantisedRows<kRows>& x,
                            typename L::I (*i)[kRows][Group::Kind::kScales]) {
  if constexpr (kQuad < 8) {
    using Kind = typename Group::Kind;
    typename L::B w[kPanels];
    for (int p = 0; p < kPanels; ++p) w[p] = group[p]->template quad<kQuad>();
    constexpr int j = Kind::kScales == 2 ? kQuad / 4 : 0;
    for (int r = 0; r < kRows; ++r) {
      for (int p = 0; p < kPanels; ++p) {
        i[p][r][j] = L::template dot<Kind::kSigned>(i[p][r][j], w[p], x.of(r).q[kQuad][x.at(r)]);
      }
    }
    dot_quads<L, kPanels, kRows, kQuad + 1>(group, x, i);
  }
}

/// What the dot product of scale j begins with: -offset * sum of the inputs that share it, which
/// makes the product over shifted weights the one over their values, and kIntBits if it is to be
/// read as a float.
template <class L, class Kind, int kRows>
INGOT_INLINE typename L::I start_of_dot(const QuantisedRows<kRows>& x, int r, int j) {
  const QuantisedGroup& g = x.of(r);
  const std::int64_t at = x.at(r);
  constexpr bool kTwo = Kind::kScales == 2;
  const bool bits = Kind::kBits && j == 0;
  if constexpr (Kind::kShift < 0) {
    return L::splat_int(bits ? kIntBits : 0);
  } else if constexpr (Kind::kShift == 7 && Kind::kBits) {
    return L::splat_int(kTwo ? g.bits_minus_128_half[j][at] : g.bits_minus_128_sum[at]);
  } else {
    const auto sum = L::splat_int(kTwo ? g.minus_half[j][at] : g.minus_sum[at]);
    const auto start = L::template shl<Kind::kShift>(sum);
    return bits ? L::add_int(start, L::splat_int(kIntBits)) : start;
  }
}

/// The first scale's sum times the scale.
template <class L, class Group>
INGOT_INLINE typename L::F scaled(typename L::I sum, const Group& group) {
  if constexpr (Group::Kind::kBits) {
    return L::fma(L::from_bits(sum), group.w(0), group.minus_bits());
  } else {
    return L::mul(L::to_float(sum), group.w(0));
  }
}

/// t plus the part of the minimums: fma(-m_j, s_j, t), or +m_j.
template <class L, int kRows, class Group>
INGOT_INLINE typename L::F add_minimums(const Group& group, const QuantisedRows<kRows>& x, int r,
                                        typename L::F t) {
  const QuantisedGroup& g = x.of(r);
  if constexpr (Group::Kind::kScales == 1) {
    return L::fma(group.m(0), L::splat(g.minus_sum_float[x.at(r)]), t);
  } else {
    for (int j = 0; j < 2; ++j) {
      t = L::fma(group.m(j), L::to_float(L::splat_int(g.minus_half[j][x.at(r)])), t);
    }
    return t;
  }
}

/// acc[p] += one group of 32 of each panel, for each row.
template <class L, int kPanels, int kRows, class Group>
INGOT_INLINE void add_group(const Group* const* group, const QuantisedRows<kRows>& x,
                            typename L::F (*acc)[kRows]) {
  using Kind = typename Group::Kind;
  typename L::I i[kPanels][kRows][Kind::kScales];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < Kind::kScales; ++j) {
      const auto start = start_of_dot<L, Kind, kRows>(x, r, j);
      for (int p = 0; p < kPanels; ++p) i[p][r][j] = start;
    }
  }
  dot_quads<L, kPanels, kRows, 0>(group, x, i);
  for (int r = 0; r < kRows; ++r) {
    for (int p = 0; p < kPanels; ++p) {
      auto t = scaled<L>(i[p][r][0], *group[p]);
      if constexpr (Kind::kScales == 2) t = L::fma(L::to_float(i[p][r][1]), group[p]->w(1), t);
      if constexpr (Kind::kHasMin) t = add_minimums<L, kRows>(*group[p], x, r, t);
      acc[p][r] = L::fma(t, L::splat(x.of(r).d[x.at(r)]), acc[p][r]);
    }
  }
}

/// Brings what the next groups read into the second cache: single rows go through weights faster
/// than the processor expects.
template <int kBytes>
INGOT_INLINE void prefetch(const unsigned char* p) {
  for (int i = 0; i < kBytes; i += 64) __builtin_prefetch(p + i, 0, 2);
}

/// Few rows through a panel, unpacked as it is read.
template <class L, class F, int kRows>
void few_rows(const PanelArgs& a, std::int64_t row) {
  constexpr std::int64_t kAhead = 4096;
  const auto* p = reinterpret_cast<const unsigned char*>(a.panel);
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    QuantisedRows<kRows> x(a, row, k);
    const std::int64_t end = segment_end(k, a.cols);
    typename L::F acc[1][kRows];
    clear<L, kRows>(acc[0]);
    for (std::int64_t at = k; at < end; at += F::kBlock, p += Panel<F>::kBlockBytes) {
      for_groups<L, F>(p, [&](const PackedGroup<L, F>& group) {
        prefetch<Panel<F>::kGroupBytes>(group.planes + kAhead);
        const PackedGroup<L, F>* const groups[] = {&group};
        add_group<L, 1, kRows>(groups, x, acc);
        x.next_group();
      });
    }
    add_segment<L, kRows>(a, row, k, acc[0]);
  }
}

/// The groups of a segment of neighbouring panels, unpacked.
template <class L, class F, int kPanels>
using ExpandedSegment = ExpandedGroup<L, ExpandedKind<L, F>>[kPanels][kSegment / kGroup];

/// Rows [row, row + kRows) through the unpacked segment that begins at `k`. The first ones bring
/// the packed groups from next[p] on near.
template <class L, class F, int kPanels, int kRows>
void segment_rows(const PanelArgs& a, const ExpandedSegment<L, F, kPanels>& groups,
                  const unsigned char* const* next, std::int64_t k, std::int64_t row) {
  QuantisedRows<kRows> x(a, row, k);
  typename L::F acc[kPanels][kRows];
  for (int p = 0; p < kPanels; ++p) clear<L, kRows>(acc[p]);
  const std::int64_t count = (segment_end(k, a.cols) - k) / kGroup;
  for (std::int64_t g = 0; g < count; ++g) {
    const ExpandedGroup<L, ExpandedKind<L, F>>* group[kPanels];
    for (int p = 0; p < kPanels; ++p) group[p] = &groups[p][g];
    if (row == 0) {
      for (int p = 0; p < kPanels; ++p) {
        prefetch<Panel<F>::kGroupBytes>(next[p] + g * Panel<F>::kGroupBytes);
      }
    }
    add_group<L, kPanels, kRows>(group, x, acc);
    x.next_group();
  }
  for (int p = 0; p < kPanels; ++p) add_segment<L, kRows>(panel_of(a, p), row, k, acc[p]);
}

/// Calls fn for rows [row, row + n) with n as a constant, at most kMost at a time, until all are
/// done: `fn.template operator()<n>(row)`.
template <int kMost, class Fn>
INGOT_INLINE void for_rows(std::int64_t row, std::int64_t rows, Fn fn) {
  // Sixteen are better halved than cut into twelve and four.
  while (row + kMost <= rows && (kMost <= 8 || rows - row != 16)) {
    fn.template operator()<kMost>(row);
    row += kMost;
  }
  if (row == rows) return;
  if constexpr (kMost > 8) {
    for_rows<8>(row, rows, fn);
  } else if constexpr (kMost > 1) {
    for_rows<kMost / 2>(row, rows, fn);
  }
}

/// Many rows through neighbouring panels, a segment after the other, each unpacked once.
template <class L, class F, int kPanels, int kMost>
INGOT_INLINE void many_rows(const PanelArgs& a) {
  ExpandedSegment<L, F, kPanels> groups;
  const unsigned char* packed[kPanels];
  for (int p = 0; p < kPanels; ++p) {
    packed[p] = reinterpret_cast<const unsigned char*>(a.panel) + p * a.panel_bytes;
  }
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    const std::int64_t end = segment_end(k, a.cols);
    for (int p = 0; p < kPanels; ++p) {
      auto* group = groups[p];
      for (std::int64_t at = k; at < end; at += F::kBlock, packed[p] += Panel<F>::kBlockBytes) {
        for_groups<L, F>(packed[p], [&](const PackedGroup<L, F>& g) { expand_group(g, *group++); });
      }
    }
    // What comes next: of each panel the next segment or, after the last, the next pair.
    const unsigned char* next[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      next[p] = packed[p] + (end == a.cols ? (kPanels - 1) * a.panel_bytes : 0);
    }
    for_rows<kMost>(0, a.rows, [&]<int kRows>(std::int64_t row) {
      segment_rows<L, F, kPanels, kRows>(a, groups, next, k, row);
    });
  }
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

template <class L, class F, int kPanels, int kRows>
void dense_rows(const PanelArgs& a, std::int64_t row) {
  constexpr std::int64_t kStep = kPanelCols * sizeof(typename F::Element);
  const float* x[kRows];
  for (int r = 0; r < kRows; ++r) x[r] = a.x.row<const float>(row + r);
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    typename L::F acc[kPanels][kRows];
    for (int p = 0; p < kPanels; ++p) clear<L, kRows>(acc[p]);
    const std::int64_t end = segment_end(k, a.cols);
    for (std::int64_t i = k; i < end; ++i) {
      typename L::F w[kPanels];
      for (int p = 0; p < kPanels; ++p) {
        w[p] = load_dense<L, F>(a.panel + p * a.panel_bytes + i * kStep);
      }
      for (int r = 0; r < kRows; ++r) {
        const auto xs = L::splat(x[r][i]);
        for (int p = 0; p < kPanels; ++p) acc[p][r] = L::fma(w[p], xs, acc[p][r]);
      }
    }
    for (int p = 0; p < kPanels; ++p) add_segment<L, kRows>(panel_of(a, p), row, k, acc[p]);
  }
}

/// Rows that share a pass over a panel.
template <class L, class F>
inline constexpr int kPassRows = L::kLinearRows;
template <class L, BlockFormat F>
inline constexpr int kPassRows<L, F> = F::kScales == 2 ? L::kLinearRowsTwoScales : L::kLinearRows;

/// All rows of `a` through one panel.
template <class L, class F>
INGOT_INLINE void linear_panel(const PanelArgs& a) {
  constexpr int kMost = kPassRows<L, F>;
  if constexpr (!BlockFormat<F>) {
    for_rows<kMost>(0, a.rows,
                    [&]<int kRows>(std::int64_t row) { dense_rows<L, F, 1, kRows>(a, row); });
  } else if (a.rows <= kFewRows<kMost>) {
    for_rows<kMost>(0, a.rows, [&]<int kRows>(std::int64_t row) { few_rows<L, F, kRows>(a, row); });
  } else {
    many_rows<L, F, 1, kMost>(a);
  }
}

/// Panels that many rows pass at once. A pair halves the loads of activations; minimums are so much
/// arithmetic beside them that twelve rows through one panel are as fast.
template <class L, class F>
inline constexpr int kPairedPanels = L::kPairRowsDense != 0 ? 2 : 1;
template <class L, BlockFormat F>
inline constexpr int kPairedPanels<L, F> = L::kPairRows != 0 && !Panel<F>::kHasMin ? 2 : 1;

/// All rows of `a` through its panels.
template <class L, class F>
void linear_panels(const PanelArgs& a) {
  if constexpr (kPairedPanels<L, F> == 2) {
    if (a.columns > kPanelCols && a.columns <= 2 * kPanelCols) {
      if constexpr (!BlockFormat<F>) {
        return for_rows<L::kPairRowsDense>(
            0, a.rows, [&]<int kRows>(std::int64_t row) { dense_rows<L, F, 2, kRows>(a, row); });
      } else if (a.rows > kFewRows<kPassRows<L, F>>) {
        return many_rows<L, F, 2, L::kPairRows>(a);
      }
    }
  }
  for (int p = 0; p * kPanelCols < a.columns; ++p) linear_panel<L, F>(panel_of(a, p));
}

template <class L, class... Fs>
constexpr void set_linear(KernelTable& table, TypeList<Fs...>) {
  ((table.linear[static_cast<std::size_t>(Fs::kFormat)] = {linear_panels<L, Fs>,
                                                           kPairedPanels<L, Fs>}),
   ...);
}

}  // namespace
}  // namespace ingot
