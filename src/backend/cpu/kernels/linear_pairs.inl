// Linear kernel for BF16 matrices whose rows are rounded to bfloat16 (backend.h, `linear`).
//
// Written over a lanes type L; included by the file of each instruction set. A pass has two chains
// for each output, over the even and the odd elements of a block of 32 inputs. Lanes with products
// of pairs add two inputs of a chain at once (bfloat16.inl).
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
    for (; i + PairPanel::kBlock <= cols; i += PairPanel::kBlock) {
      store_factors<L>(x + i, round_bfloat16<L>(L::load(from + i)),
                       round_bfloat16<L>(L::load(from + i + 16)));
    }
    if (i == cols) return;
    const int left = static_cast<int>(cols - i);
    store_factors<L>(x + i, round_bfloat16<L>(L::load(from + i, left < 16 ? left : 16)),
                     round_bfloat16<L>(L::load(from + i + 16, left < 16 ? 0 : left - 16)));
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
      store_factors<L>(x + i, L::load_bfloat16(from), L::load_bfloat16(from + 16));
    }
  }

  /// Rows of a group, whose chains fit in registers.
  static constexpr int group_rows(int rows) {
    const int groups = (rows + L::kPairChains - 1) / L::kPairChains;
    return (rows + groups - 1) / groups;
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
    /// Pair `pair` of the block, for all outputs of a panel.
    INGOT_INLINE typename L::I pairs(int panel, int pair) const {
      return load_pairs<L>(at + panel * panel_bytes + pair * PairPanel::kPairBytes);
    }
  };

  /// Adds a block to the totals of all rows, group by group.
  template <int kPanels, int kCount, int kRow = 0>
  INGOT_INLINE static void add_block(PairReader<kPanels>& panels, const DenseRow* x, std::int64_t k,
                                     float (&totals)[kPanels][kCount][kPanelCols]) {
    if constexpr (kRow < kCount) {
      constexpr int kGroup = group_rows(kCount);
      constexpr int kRowsOf = kRow + kGroup < kCount ? kGroup : kCount - kRow;
      add_group<kRow == 0, kPanels, kCount, kRow, kRowsOf>(panels, x, k, totals);
      add_block<kPanels, kCount, kRow + kGroup>(panels, x, k, totals);
    }
  }

  /// Adds a block to the totals of kRowsOf rows from row kRow on. Prefetches if kAhead.
  template <bool kAhead, int kPanels, int kCount, int kRow, int kRowsOf>
  INGOT_INLINE static void add_group(PairReader<kPanels>& panels, const DenseRow* x, std::int64_t k,
                                     float (&totals)[kPanels][kCount][kPanelCols]) {
    typename L::F even[kPanels][kRowsOf];
    typename L::F odd[kPanels][kRowsOf];
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
      clear<L, kRowsOf>(even[p]);
      clear<L, kRowsOf>(odd[p]);
    }
    if constexpr (kDotsPairs<L>) {
      for (int pair = 0; pair < PairPanel::kBlock / 2; pair += 2) {
        if (kAhead) panels.prefetch();
        if (kAhead) panels.prefetch();
        add_two_pairs<kPanels, kRowsOf>(panels, x + kRow, k, pair, even, odd);
      }
    } else {
#pragma GCC unroll 2
      for (int pair = 0; pair < PairPanel::kBlock / 2; ++pair) {
        if (kAhead) panels.prefetch();
        add_pair<kPanels, kRowsOf>(panels, x + kRow, k, pair, even, odd);
      }
    }
#pragma GCC unroll 2
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 32
      for (int r = 0; r < kRowsOf; ++r) {
        float* total = totals[p][kRow + r];
        L::store(total, L::add(L::load(total), L::add(even[p][r], odd[p][r])));
      }
    }
  }

  /// Adds the products of a pair of inputs to the chains.
  template <int kPanels, int kRowsOf>
  INGOT_INLINE static void add_pair(const PairReader<kPanels>& panels, const DenseRow* x,
                                    std::int64_t k, int pair,
                                    typename L::F (&even)[kPanels][kRowsOf],
                                    typename L::F (&odd)[kPanels][kRowsOf]) {
    typename L::F w[kPanels];
    for (int p = 0; p < kPanels; ++p) w[p] = even_of<L>(panels.pairs(p, pair));
    add_products<kPanels, kRowsOf>(w, x, k + 2 * pair, even);
    PairReader<kPanels> again = panels;
    // If the chains fill the registers, the pair is loaded twice: else a chain would be in memory.
    if constexpr (L::kLoadsPairsTwice && kRowsOf == L::kPairChains) {
      __asm__("" : "+r"(again.at));
    }
    for (int p = 0; p < kPanels; ++p) w[p] = odd_of<L>(again.pairs(p, pair));
    add_products<kPanels, kRowsOf>(w, x, k + 2 * pair + 1, odd);
  }

  /// Adds the products of four inputs to the chains, two at a time.
  template <int kPanels, int kRowsOf>
  INGOT_INLINE static void add_two_pairs(const PairReader<kPanels>& panels, const DenseRow* x,
                                         std::int64_t k, int pair,
                                         typename L::F (&even)[kPanels][kRowsOf],
                                         typename L::F (&odd)[kPanels][kRowsOf]) {
    typename L::I even_words[kPanels];
    typename L::I odd_words[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const auto one = panels.pairs(p, pair);
      const auto two = panels.pairs(p, pair + 1);
      even_words[p] = L::even_words(one, two);
      odd_words[p] = L::odd_words(one, two);
    }
#pragma GCC unroll 32
    for (int r = 0; r < kRowsOf; ++r) {
      const float* factor = x[r] + k + pair / 2;
      for (int p = 0; p < kPanels; ++p) {
        even[p][r] = L::dot_pairs(even[p][r], even_words[p], factor);
        odd[p][r] = L::dot_pairs(odd[p][r], odd_words[p], factor + kOddWords);
      }
    }
  }

  template <int kPanels, int kCount>
  INGOT_INLINE static void add_products(const typename L::F (&w)[kPanels], const DenseRow* x,
                                        std::int64_t k, typename L::F (&acc)[kPanels][kCount]) {
#pragma GCC unroll 32
    for (int r = 0; r < kCount; ++r) {
      const auto xs = L::splat(x[r][k]);
      for (int p = 0; p < kPanels; ++p) {
        acc[p][r] = L::fma(w[p], xs, acc[p][r]);
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
