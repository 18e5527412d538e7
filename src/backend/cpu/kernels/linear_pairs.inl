// Linear kernel for BF16 matrices whose rows are rounded to bfloat16 (backend.h, `linear`).
//
// Written over a lanes type L; included by the file of each instruction set. A pass has two chains
// for each output, over the even and the odd elements of a block of 32 inputs.
#pragma once

#include "backend/cpu/kernels/bfloat16.inl"
#include "backend/cpu/kernels/linear_dense.inl"

namespace ingot {
namespace {

/// From this number of rows on, kernels read PanelArgs::rounded. Fewer rows are not rounded before.
inline constexpr int kRoundedLeastRows = 5;

/// KernelTable::round.
template <class L>
void round_row(const float* x, std::int64_t n, std::uint16_t* out) {
  for (std::int64_t i = 0; i < n; i += 16) {
    L::store_upper(out + i, round_bfloat16<L>(L::load(x + i)));
  }
}

/// The kernel of a PairPanel.
template <class L>
struct PairForm {
  static constexpr int kRows = L::kPairRows;
  static constexpr int kRowsOfTwo = L::kPairRowsOfTwo;
  static constexpr std::int64_t kStep = PairPanel::kPairBytes / 2;

  /// Copies `cols` rounded inputs of a row, from input `k` on, and pads them with zeros to whole
  /// blocks.
  INGOT_INLINE static void copy(const PanelArgs& a, std::int64_t row, std::int64_t k,
                                std::int64_t cols, float* x) {
    if (a.rounded != nullptr && a.rows >= kRoundedLeastRows) return widen(a, row, k, cols, x);
    const float* from = a.x.row<const float>(row) + k;
    std::int64_t i = 0;
    for (; i + 16 <= cols; i += 16) L::store(x + i, round_bfloat16<L>(L::load(from + i)));
    for (; i % PairPanel::kBlock != 0 || i < cols; i += 16) {
      const int left = i < cols ? static_cast<int>(cols - i) : 0;
      L::store(x + i, round_bfloat16<L>(L::load(from + i, left)));
    }
  }

  /// As ChainForm::run. Each block of 32 inputs stays in the first-level cache while all rows pass
  /// it, group by group.
  template <int kPanels, int kCount>
  [[gnu::noinline]] static void run(const PanelArgs& a, const DenseRow* x, const DensePass& pass) {
    alignas(64) float totals[kPanels][kCount][kPanelCols] = {};
    PairReader<kPanels> panels(a, pass);
    for (std::int64_t k = 0; k < pass.cols; k += PairPanel::kBlock) {
      add_block<kPanels, kCount>(panels, x, k, totals);
      panels.at += PairPanel::kBlockBytes;
    }
    for (int p = 0; p < kPanels; ++p) {
      for (int r = 0; r < kCount && r < pass.rows; ++r) {
        const typename L::F total[] = {L::load(totals[p][r])};
        add_segment<L, 1>(panel_of(a, p), pass.row + r, 1, pass.k, total);
      }
    }
  }

 private:
  INGOT_INLINE static void widen(const PanelArgs& a, std::int64_t row, std::int64_t k,
                                 std::int64_t cols, float* x) {
    const RoundedTile* tile = a.rounded + row / kMatrixRows * (a.cols / kGroup) + k / kGroup;
    for (std::int64_t i = 0; i < cols; i += kGroup, ++tile) {
      const std::uint16_t* from = tile->x[row % kMatrixRows];
      L::store(x + i, L::load_bfloat16(from));
      L::store(x + i + 16, L::load_bfloat16(from + 16));
    }
  }

  /// Rows of a group, whose chains fit in registers.
  static constexpr int group_rows(int rows) {
    return rows <= L::kPairChains ? rows : group_rows((rows + 1) / 2);
  }

  /// Reads pairs of kPanels panels one after the other. For the panels' first outputs, prefetches
  /// as DensePass states.
  template <int kPanels>
  struct PairReader {
    const std::byte* at;
    const std::byte* ahead;
    std::int64_t panel_bytes;
    std::int64_t turn;  ///< lines until `ahead` turns to the panels that follow
    std::int64_t jump;  ///< what is added to `ahead` then
    std::int64_t apart;
    std::int64_t wait;

    INGOT_INLINE PairReader(const PanelArgs& a, const DensePass& pass)
        : at(a.panel + pass.k * kStep),
          ahead(a.panel + pass.k * kStep + pass.ahead),
          panel_bytes(a.panel_bytes),
          turn(pass.turn <= pass.ahead ? 0 : (pass.turn - pass.ahead) / kLine),
          jump(kPanels * a.panel_bytes - pass.cols * kStep),
          apart(pass.apart),
          wait(0) {}
    INGOT_INLINE void prefetch() {
      if (wait-- != 0) return;
      wait = apart - 1;
      if (turn-- == 0) ahead += jump;
      for (int p = 0; p < kPanels; ++p) prefetch_line(ahead + p * panel_bytes);
      ahead += kLine;
    }
    /// Pair `pair` of the block, from output `first` on.
    template <class V>
    INGOT_INLINE typename V::I pairs(int panel, int pair, int first) const {
      return load_pairs<V>(at + panel * panel_bytes + pair * PairPanel::kPairBytes + 4 * first);
    }
  };

  /// Adds a block to the totals of all rows. Few rows take all outputs at once; more rows take them
  /// in parts of L::PairLanes.
  template <int kPanels, int kCount>
  INGOT_INLINE static void add_block(PairReader<kPanels>& panels, const DenseRow* x, std::int64_t k,
                                     float (&totals)[kPanels][kCount][kPanelCols]) {
    if constexpr (kCount <= 2) {
      add_group<L, true, kPanels, kCount, 0, kCount>(panels, x, k, 0, totals);
    } else {
      using V = typename L::PairLanes;
      add_groups<V, true, kPanels, kCount, 0>(panels, x, k, 0, totals);
      for (int first = V::kWidth; first < kPanelCols; first += V::kWidth) {
        add_groups<V, false, kPanels, kCount, 0>(panels, x, k, first, totals);
      }
    }
  }

  template <class V, bool kAhead, int kPanels, int kCount, int kRow>
  INGOT_INLINE static void add_groups(PairReader<kPanels>& panels, const DenseRow* x,
                                      std::int64_t k, int first,
                                      float (&totals)[kPanels][kCount][kPanelCols]) {
    if constexpr (kRow < kCount) {
      constexpr int kGroup = group_rows(kCount);
      constexpr int kRowsOf = kRow + kGroup < kCount ? kGroup : kCount - kRow;
      add_group<V, kAhead && kRow == 0, kPanels, kCount, kRow, kRowsOf>(panels, x, k, first,
                                                                        totals);
      add_groups<V, kAhead, kPanels, kCount, kRow + kGroup>(panels, x, k, first, totals);
    }
  }

  /// Adds a block to outputs [first, first + V::kWidth) of kRowsOf rows from row kRow on.
  /// Prefetches if kAhead.
  template <class V, bool kAhead, int kPanels, int kCount, int kRow, int kRowsOf>
  INGOT_INLINE static void add_group(PairReader<kPanels>& panels, const DenseRow* x, std::int64_t k,
                                     int first, float (&totals)[kPanels][kCount][kPanelCols]) {
    typename V::F even[kPanels][kRowsOf];
    typename V::F odd[kPanels][kRowsOf];
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
      clear<V, kRowsOf>(even[p]);
      clear<V, kRowsOf>(odd[p]);
    }
#pragma GCC unroll 2
    for (int pair = 0; pair < PairPanel::kBlock / 2; ++pair) {
      if (kAhead) panels.prefetch();
      add_pair<V, kPanels, kRowsOf>(panels, x + kRow, k, pair, first, even, odd);
    }
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 32
      for (int r = 0; r < kRowsOf; ++r) {
        float* total = totals[p][kRow + r] + first;
        V::store(total, V::add(V::load(total), V::add(even[p][r], odd[p][r])));
      }
    }
  }

  /// Adds the products of a pair of inputs to the chains.
  template <class V, int kPanels, int kRowsOf>
  INGOT_INLINE static void add_pair(const PairReader<kPanels>& panels, const DenseRow* x,
                                    std::int64_t k, int pair, int first,
                                    typename V::F (&even)[kPanels][kRowsOf],
                                    typename V::F (&odd)[kPanels][kRowsOf]) {
    typename V::F w[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      w[p] = even_of<V>(panels.template pairs<V>(p, pair, first));
    }
    add_products<V, kPanels, kRowsOf>(w, x, k + 2 * pair, even);
    for (int p = 0; p < kPanels; ++p) {
      w[p] = odd_of<V>(panels.template pairs<V>(p, pair, first));
    }
    add_products<V, kPanels, kRowsOf>(w, x, k + 2 * pair + 1, odd);
  }

  template <class V, int kPanels, int kCount>
  INGOT_INLINE static void add_products(const typename V::F (&w)[kPanels], const DenseRow* x,
                                        std::int64_t k, typename V::F (&acc)[kPanels][kCount]) {
#pragma GCC unroll 32
    for (int r = 0; r < kCount; ++r) {
      const auto xs = V::splat(x[r][k]);
      for (int p = 0; p < kPanels; ++p) {
        acc[p][r] = V::fma(w[p], xs, acc[p][r]);
      }
    }
  }
};

/// The linear kernel of rounded rows.
template <class L>
constexpr LinearKernel pair_kernel() {
  LinearKernel kernel = dense_kernel<PairForm<L>>();
  kernel.rounded_rows = kRoundedLeastRows;
  return kernel;
}

}  // namespace
}  // namespace ingot
