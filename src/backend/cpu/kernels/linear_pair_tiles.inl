// Linear kernel for rounded rows on bfloat16 tiles: 16 rows by 16 outputs by 32 inputs.
//
// A tile product adds e + o to each sum, as PairForm does with vectors, so results are bit-equal.
//
// The lanes type also needs begin_rounded, clear_sums, load_rows, load_pairs_tile,
// multiply_rounded, store_rounded_sums, end_tiles and store_upper (isa/avx512_amx.cpp).
#pragma once

#include "backend/cpu/kernels/linear_pairs.inl"

namespace ingot {
namespace {

/// Two row tiles and two panels at most, over a segment, and the lines prefetched meanwhile.
struct TilePass {
  const RoundedTile* x[2];
  const std::byte* w[2];
  std::int64_t blocks;
  const std::byte* next;  ///< lines of the first panel; the second panel's lie `panel_bytes` on
  std::int64_t panel_bytes;
  int lines;  ///< lines that each block prefetches of each panel
};

/// Sums of up to two row tiles and two panels.
using TileSums = float[2][2][kMatrixRows][kPanelCols];

/// Where a lanes type stores sums: in floats, from one row, panel or row tile to the next.
struct SumsLayout {
  std::int64_t row = kPanelCols;
  std::int64_t panel = kMatrixRows * kPanelCols;
  std::int64_t tile = 2 * kMatrixRows * kPanelCols;  ///< as in TileSums
};

template <class L, int kTiles, int kPanels>
void multiply_segment(const TilePass& pass, TileSums& sums) {
  L::template clear_sums<kTiles, kPanels>();
  const std::byte* next = pass.next;
  for (std::int64_t b = 0; b < pass.blocks; ++b) {
    L::template load_rows<0>(pass.x[0][b].x[0]);
    if constexpr (kTiles == 2) L::template load_rows<1>(pass.x[1][b].x[0]);
    L::template load_pairs_tile<0>(pass.w[0] + b * PairPanel::kBlockBytes);
    if constexpr (kPanels == 2) {
      L::template load_pairs_tile<1>(pass.w[1] + b * PairPanel::kBlockBytes);
    }
    L::template multiply_rounded<kTiles, kPanels>();
    for (int i = 0; i < pass.lines; ++i, next += kLine) {
      prefetch_line(next);
      if constexpr (kPanels == 2) prefetch_line(next + pass.panel_bytes);
    }
  }
  L::template store_rounded_sums<kTiles, kPanels>(sums[0][0][0], SumsLayout{});
}

/// Multiplies row tiles `tile`, `tile` + 1, .. with panels `panel`, `panel` + 1, .. over the
/// segment that begins at `k`.
template <class L, int kTiles, int kPanels>
INGOT_INLINE void add_tiles(const PanelArgs& a, std::int64_t k, std::int64_t tile, int panel,
                            TilePass pass) {
  const std::int64_t groups = a.cols / kGroup;
  for (int t = 0; t < kTiles; ++t) pass.x[t] = a.rounded + (tile + t) * groups + k / kGroup;
  for (int p = 0; p < kPanels; ++p) {
    pass.w[p] = a.panel + (panel + p) * a.panel_bytes + k * PairForm<L>::kStep;
  }
  alignas(64) TileSums sums;
  multiply_segment<L, kTiles, kPanels>(pass, sums);
  for (int p = 0; p < kPanels; ++p) {
    const PanelArgs one = panel_of(a, panel + p);
    for (std::int64_t i = 0; i < kTiles * kMatrixRows; ++i) {
      const std::int64_t row = tile * kMatrixRows + i;
      if (row >= a.rows) break;
      const typename L::F sum[] = {L::load(sums[i / kMatrixRows][p][i % kMatrixRows])};
      add_segment<L, 1>(one, row, 1, k, sum);
    }
  }
}

/// Multiplies all row tiles with kPanels panels over a segment. Each pair of row tiles prefetches
/// its share of the panels that come next.
template <class L, int kPanels>
INGOT_INLINE void tile_rows_of_panels(const PanelArgs& a, std::int64_t k, int panel,
                                      const std::byte* next) {
  constexpr int kBlockLines = PairPanel::kBlockBytes / kLine;
  const std::int64_t tiles = (a.rows + kMatrixRows - 1) / kMatrixRows;
  const std::int64_t pairs = (tiles + 1) / 2;
  TilePass pass{};
  pass.blocks = (segment_end(k, a.cols) - k) / kGroup;
  pass.panel_bytes = a.panel_bytes;
  pass.lines = static_cast<int>((kBlockLines + pairs - 1) / pairs);
  for (std::int64_t t = 0; t < tiles; t += 2) {
    if (t / 2 >= kBlockLines) pass.lines = 0;  // earlier row tiles prefetched all
    pass.next = next + t / 2 * pass.lines * pass.blocks * kLine;
    if (t + 1 < tiles) {
      add_tiles<L, 2, kPanels>(a, k, t, panel, pass);
    } else {
      add_tiles<L, 1, kPanels>(a, k, t, panel, pass);
    }
  }
}

/// The linear kernel. Calls that tiles do not support go to table `kBase`.
template <class L, const KernelTable& (*kBase)()>
void linear_or_pair_tiles(const PanelArgs& a) {
  if (a.rounded == nullptr || a.rows < kRoundedLeastRows) {
    return kBase().linear[static_cast<std::size_t>(BF16::kFormat)].run(a);
  }
  const int panels = (a.columns + kPanelCols - 1) / kPanelCols;
  L::begin_rounded();
  for (std::int64_t k = 0; k < a.cols; k += kSegment) {
    for_panels<2>(0, panels, [&]<int kPanels>(int p) {
      const bool is_last = p + kPanels == panels;
      const bool ends = k + kSegment >= a.cols;
      const std::int64_t row = is_last && !ends ? k + kSegment : is_last ? 0 : k;
      const int after = is_last && !ends ? 0 : p + kPanels;
      const std::byte* next = a.panel + after * a.panel_bytes + row * PairForm<L>::kStep;
      tile_rows_of_panels<L, kPanels>(a, k, p, next);
    });
  }
  L::end_tiles();
}

/// Sets the kernels for rounded rows in a table with bfloat16 tiles.
template <class L, const KernelTable& (*kBase)()>
void set_pair_tiles(KernelTable& table) {
  LinearKernel& kernel = table.linear[static_cast<std::size_t>(BF16::kFormat)];
  kernel.run = linear_or_pair_tiles<L, kBase>;
}

}  // namespace
}  // namespace ingot
