// What linears over all formats share: segments of K, and rows and panels by the pass.
//
// Written over a lanes type L; included by the file of each instruction set.
#pragma once

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/near.inl"
#include "backend/cpu/panel.h"
#include "base/inline.h"

namespace ingot {
namespace {

/// A K segment: each is summed in a chain of its own.
inline constexpr std::int64_t kSegment = 1024;

// The loops over accumulators are unrolled: an index that is not known when compiled keeps them in
// memory, where each group's sums would be stored.

template <class L, int kRows>
INGOT_INLINE void clear(typename L::F* acc) {
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) acc[r] = L::splat(0);
}

/// Where the segment that begins at `k` ends.
INGOT_INLINE std::int64_t segment_end(std::int64_t k, std::int64_t cols) {
  return k + kSegment < cols ? k + kSegment : cols;
}

/// Adds the sums of the segment that begins at `k` to the outputs of rows [row, row + rows), at
/// most kRows.
template <class L, int kRows>
INGOT_INLINE void add_segment(const PanelArgs& a, std::int64_t row, std::int64_t rows,
                              std::int64_t k, const typename L::F* acc) {
  const bool last = k + kSegment >= a.cols;
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) return;
    float* out = a.out + (row + r) * a.out_stride;
    typename L::F sum = acc[r];
    if (k != 0) sum = L::add(L::load(out, a.columns), sum);
    if (last && a.bias != nullptr) sum = L::add(sum, L::load(a.bias, a.columns));
    L::store(out, sum, a.columns);
  }
}

/// Up to `count` panels of `a` from panel `p` on.
INGOT_INLINE PanelArgs panels_of(PanelArgs a, int p, int count) {
  a.panel += p * a.panel_bytes;
  a.out += p * kPanelCols;
  if (a.bias != nullptr) a.bias += p * kPanelCols;
  a.columns -= p * kPanelCols;
  if (a.columns > count * kPanelCols) a.columns = count * kPanelCols;
  return a;
}

/// Panel `p` of `a`.
INGOT_INLINE PanelArgs panel_of(const PanelArgs& a, int p) { return panels_of(a, p, 1); }

/// Calls fn for rows [row, row + n) with n as a constant, at most kMost at a time, until all are
/// done: `fn.template operator()<n>(row)`.
template <int kMost, class Fn>
INGOT_INLINE void for_rows(std::int64_t row, std::int64_t rows, Fn fn) {
  for (; row + kMost <= rows; row += kMost) fn.template operator()<kMost>(row);
  if constexpr (kMost > 1) {
    if (row != rows) for_rows<kMost / 2>(row, rows, fn);
  }
}

/// Passes that `rows` rows take, at most kMost in each, as for_rows cuts them.
template <int kMost>
INGOT_INLINE int passes_of(std::int64_t rows) {
  static_assert((kMost & (kMost - 1)) == 0);
  return static_cast<int>(rows / kMost) + __builtin_popcount(unsigned(rows % kMost));
}

/// Calls fn for panels [panel, panel + n) with n as a constant, at most kMost at a time, until all
/// are done: `fn.template operator()<n>(panel)`.
template <int kMost, class Fn>
INGOT_INLINE void for_panels(int panel, int panels, Fn fn) {
  // One alone is slow: four are better halved than cut into three and one.
  while (panel + kMost <= panels && (kMost != 3 || panels - panel != 4)) {
    fn.template operator()<kMost>(panel);
    panel += kMost;
  }
  if constexpr (kMost > 1) {
    if (panel != panels) for_panels<kMost - 1>(panel, panels, fn);
  }
}

}  // namespace
}  // namespace ingot
