// QuantisedRows: gives linear kernels access to the quantised activations of row tiles.
#pragma once

#include "backend/cpu/kernel_table.h"
#include "base/inline.h"

namespace ingot {
namespace {

/// kRows rows of quantised activations. kRows is a multiple or a divisor of kTileRows.
template <int kRows>
struct QuantisedRows {
  static constexpr int kTiles = (kRows + kTileRows - 1) / kTileRows;
  static_assert(kRows % kTileRows == 0 || kTileRows % kRows == 0);
  const QuantisedGroup* tile[kTiles];
  std::int64_t first = 0;  ///< place of row 0 in its tile, if the rows are not whole tiles

  /// Rows from `row` on, at the group of element `k`.
  INGOT_INLINE QuantisedRows(const PanelArgs& a, std::int64_t row, std::int64_t k)
      : first(row % kTileRows) {
    const std::int64_t groups = a.cols / kGroup;
    for (int t = 0; t < kTiles; ++t) tile[t] = a.q + (row / kTileRows + t) * groups + k / kGroup;
  }
  INGOT_INLINE const QuantisedGroup& of(int r) const { return *tile[r / kTileRows]; }
  INGOT_INLINE std::int64_t at(int r) const {
    // A constant for whole tiles: an address with a variable part would take a register for each
    // row.
    return kRows % kTileRows == 0 ? r % kTileRows : first + r;
  }
  /// A copy that the compiler treats as other rows, so it reads them again and keeps no values.
  INGOT_INLINE QuantisedRows read_anew() const {
    QuantisedRows rows = *this;
    for (int t = 0; t < kTiles; ++t) __asm__("" : "+r"(rows.tile[t]));
    return rows;
  }
  INGOT_INLINE void next_group() {
    for (int t = 0; t < kTiles; ++t) ++tile[t];
  }
};

}  // namespace
}  // namespace ingot
