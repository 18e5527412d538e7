// Loops for linear kernels of all formats, over segments of K and over tiles of rows and panels.
//
// Written over a lanes type L; included by the file of each instruction set.
#pragma once

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/prefetch.inl"
#include "backend/cpu/panel.h"
#include "base/inline.h"

namespace ingot {
namespace {

/// Inputs in a segment, as `linear` in backend.h defines it. Another value changes results.
inline constexpr std::int64_t kSegment = 1024;

// The loops over accumulators are unrolled. If an index were not constant, the compiler would keep
// accumulators in memory and store the sums of each group.

template <class L, int kRows>
INGOT_INLINE void clear(typename L::F* acc) {
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) acc[r] = L::splat(0);
}

/// End of the segment that begins at `k`.
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

/// The arguments `a`, restricted to at most `count` panels from panel `p` on.
INGOT_INLINE PanelArgs panels_of(PanelArgs a, int p, int count) {
  a.panel += p * a.panel_bytes;
  a.out += p * kPanelCols;
  if (a.bias != nullptr) a.bias += p * kPanelCols;
  a.columns -= p * kPanelCols;
  if (a.columns > count * kPanelCols) a.columns = count * kPanelCols;
  return a;
}

/// The arguments `a`, restricted to panel `p`.
INGOT_INLINE PanelArgs panel_of(const PanelArgs& a, int p) { return panels_of(a, p, 1); }

/// Cuts rows into tiles [row, row + n) of at most kMost rows, and calls fn for each tile with n as
/// a constant: `fn.template operator()<n>(row)`.
template <int kMost, class Fn>
INGOT_INLINE void for_rows(std::int64_t row, std::int64_t rows, Fn fn) {
  for (; row + kMost <= rows; row += kMost) fn.template operator()<kMost>(row);
  if constexpr (kMost > 1) {
    if (row != rows) for_rows<kMost / 2>(row, rows, fn);
  }
}

/// Number of tiles that for_rows<kMost> makes of `rows` rows.
template <int kMost>
INGOT_INLINE int passes_of(std::int64_t rows) {
  static_assert((kMost & (kMost - 1)) == 0);
  return static_cast<int>(rows / kMost) + __builtin_popcount(unsigned(rows % kMost));
}

/// Cuts panels into tiles [panel, panel + n) of at most kMost panels, and calls fn for each tile
/// with n as a constant: `fn.template operator()<n>(panel)`.
template <int kMost, class Fn>
INGOT_INLINE void for_panels(int panel, int panels, Fn fn) {
  // A single panel is slow: four panels are cut into two and two, not three and one.
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
