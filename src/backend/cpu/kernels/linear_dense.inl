// Linear kernels for dense formats: rows times panels of 16 outputs (backend.h, `linear`).
//
// Written over a lanes type L; included by the file of each instruction set. A pass copies its rows
// and multiplies them with all panels of the call, one or two at a time. No sum crosses rows.
#pragma once

#include <cstring>
#include <limits>

#include "backend/cpu/kernels/tile_loops.inl"

namespace ingot {
namespace {

/// Panels in a call, the fastest number: rows are copied once for all panels of a call.
inline constexpr int kDensePanels = 16;

/// A copied segment of a row. Rows are often a power of two apart, and would share few places in
/// the first-level cache. Copies do not, and one register addresses all of them.
using DenseRow = float[kSegment + 16];

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

inline constexpr std::int64_t kNoTurn = std::numeric_limits<std::int64_t>::max();

/// One pass: rows [row, row + rows) of a call, over the segment that begins at `k`.
struct DensePass {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t k = 0;
  std::int64_t cols = 0;  ///< inputs of the segment
  /// Bytes from the segment's begin to the line that is prefetched, one for every `apart` lines
  /// read. At `turn` prefetch continues with this segment of the panels that follow.
  std::int64_t ahead = 0;
  std::int64_t turn = 0;
  std::int64_t apart = 1;
};

/// The kernel of a dense format: acc = fma(w, x, acc) over all inputs.
template <class L, class F>
struct ChainForm {
  static constexpr int kRows = L::kDenseRows;
  static constexpr int kRowsOfTwo = L::kDenseRowsOfTwo;
  /// Bytes of a panel that hold one column of K.
  static constexpr std::int64_t kStep = kPanelCols * sizeof(typename F::Element);

  /// Copies `cols` inputs of a row, from input `k` on.
  INGOT_INLINE static void copy(const PanelArgs& a, std::int64_t row, std::int64_t k,
                                std::int64_t cols, float* x) {
    const auto bytes = static_cast<std::size_t>(cols) * sizeof(float);
    std::memcpy(x, a.x.row<const float>(row) + k, bytes);
  }

  /// A pass of at most kCount rows, whose copies are `x`, through kPanels panels.
  template <int kPanels, int kCount>
  static void run(const PanelArgs& a, const DenseRow* x, const DensePass& pass) {
    const std::byte* const panel = a.panel + pass.k * kStep;
    std::int64_t ahead = pass.ahead;
    std::int64_t turn = pass.turn;
    const std::int64_t apart = kLine / kStep * pass.apart;
    typename L::F acc[kPanels][kCount];
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) clear<L, kCount>(acc[p]);
    for (std::int64_t i = 0; i < pass.cols;) {
      if (ahead >= turn) {
        ahead += kPanels * a.panel_bytes - pass.cols * kStep;
        turn = kNoTurn;
      }
      for (int p = 0; p < kPanels; ++p) prefetch_line(panel + ahead + p * a.panel_bytes);
      ahead += kLine;
      const std::int64_t end = i + apart < pass.cols ? i + apart : pass.cols;
      for (; i < end; ++i) {
        typename L::F w[kPanels];
        for (int p = 0; p < kPanels; ++p) {
          w[p] = load_dense<L, F>(panel + p * a.panel_bytes + i * kStep);
        }
#pragma GCC unroll 32
        for (int r = 0; r < kCount; ++r) {
          const auto xs = L::splat(x[r][i]);
          for (int p = 0; p < kPanels; ++p) acc[p][r] = L::fma(w[p], xs, acc[p][r]);
        }
      }
    }
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
      add_segment<L, kCount>(panel_of(a, p), pass.row, pass.rows, pass.k, acc[p]);
    }
  }
};

/// Numbers of rows that passes are compiled for. Other numbers are rounded up.
inline constexpr int kDenseCounts[] = {1, 2, 4, 6, 8, 12, 16, 20, 24, 28};

/// Calls `fn.template operator()<n>()`. n is the smallest of kDenseCounts that is at least `rows`,
/// but at most kMost.
template <int kMost, int kCount = 0, class Fn>
INGOT_INLINE void with_dense_rows(std::int64_t rows, Fn fn) {
  constexpr int n = kDenseCounts[kCount];
  if constexpr (n >= kMost) {
    fn.template operator()<kMost>();
  } else if (rows <= n) {
    fn.template operator()<n>();
  } else {
    with_dense_rows<kMost, kCount + 1>(rows, fn);
  }
}

/// Rows of each pass but the last, at most kMost. Sizes that are compiled leave little to round up.
template <int kMost>
INGOT_INLINE std::int64_t dense_pass_rows(std::int64_t rows) {
  if (rows <= kMost) return rows;
  const std::int64_t passes = (rows + kMost - 1) / kMost;
  const std::int64_t each = ((rows + passes - 1) / passes + 3) / 4 * 4;
  return each < kMost ? each : kMost;
}

/// A pass through the panels of `a`. Two panels at once hide the latency of few rows; many rows
/// share the cost of widening one panel.
template <class Form>
INGOT_INLINE void dense_pass(const PanelArgs& a, const DenseRow* x, const DensePass& pass) {
  const auto through = [&]<int kPanels>(int p) {
    constexpr int kMost = kPanels == 2 ? Form::kRowsOfTwo : Form::kRows;
    with_dense_rows<kMost>(pass.rows, [&]<int kCount>() {
      Form::template run<kPanels, kCount>(panels_of(a, p, kPanels), x, pass);
    });
  };
  const int panels = (a.columns + kPanelCols - 1) / kPanelCols;
  if constexpr (Form::kRowsOfTwo > 0) {
    if (a.rows <= Form::kRowsOfTwo) return for_panels<2>(0, panels, through);
  }
  for_panels<1>(0, panels, through);
}

/// Copies the rows of a pass to `x`, and sets the rows that pad its size to zero. Old values there
/// could be denormals, which make processors slow.
template <class Form>
INGOT_INLINE void copy_rows(const PanelArgs& a, const DensePass& pass, DenseRow* x) {
  for (std::int64_t r = 0; r < pass.rows; ++r) {
    Form::copy(a, pass.row + r, pass.k, pass.cols, x[r]);
  }
  with_dense_rows<Form::kRows>(pass.rows, [&]<int kCount>() {
    for (std::int64_t r = pass.rows; r < kCount; ++r) std::memset(x[r], 0, sizeof x[r]);
  });
}

/// All rows of `a` through its panels, segment by segment. A single pass prefetches its own next
/// lines; when several passes run, each prefetches a share of the next segment or panels.
template <class Form>
void dense_panels(const PanelArgs& a) {
  constexpr std::int64_t kAheadOfOnePass = 4608;  // as kAheadOfPass of linear.inl
  if (a.rows == 0) return;
  auto* const x = reinterpret_cast<DenseRow*>(a.scratch);
  const std::int64_t each = dense_pass_rows<Form::kRows>(a.rows);
  const std::int64_t passes = (a.rows + each - 1) / each;
  const std::int64_t panels = (a.columns + kPanelCols - 1) / kPanelCols;
  DensePass pass{.turn = kNoTurn, .apart = passes};
  for (; pass.k < a.cols; pass.k += kSegment) {
    const std::int64_t end = segment_end(pass.k, a.cols);
    pass.cols = end - pass.k;
    const std::int64_t bytes = pass.cols * Form::kStep;
    const std::int64_t next = end < a.cols ? bytes : panels * a.panel_bytes - pass.k * Form::kStep;
    for (std::int64_t i = 0; i < passes; ++i) {
      pass.row = i * each;
      pass.rows = pass.row + each < a.rows ? each : a.rows - pass.row;
      pass.ahead = passes == 1 ? kAheadOfOnePass : next + bytes / passes * i;
      if (passes == 1) pass.turn = bytes;
      copy_rows<Form>(a, pass, x);
      dense_pass<Form>(a, x, pass);
    }
  }
}

/// The linear kernel of a Form, with the sizes of calls that are fastest.
template <class Form>
constexpr LinearKernel dense_kernel() {
  return {.run = dense_panels<Form>,
          .panels = kDensePanels,
          .few_panels = kDensePanels,
          .scratch = sizeof(DenseRow[Form::kRows])};
}

}  // namespace
}  // namespace ingot
