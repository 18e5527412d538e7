// Packed panels hold the exact values of the file's rows, in hardly more memory.
#include "backend/cpu/panel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/checksum.h"

namespace ingot {
namespace {

/// Rows of random bytes: any bits are valid codes, scales and minimums of every format.
struct RandomRows {
  std::vector<std::byte> bytes;
  View view;

  RandomRows(Format format, std::int64_t rows, std::int64_t cols) {
    const std::int64_t stride = row_bytes(format, cols);
    bytes.resize(static_cast<std::size_t>(rows * stride));
    std::mt19937 rng(static_cast<unsigned>(rows * 7919 + cols));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
    view = {bytes.data(), format, rows, cols, stride};
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return __builtin_memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Panel, ColumnsDecodeAsTheRowsOfTheFile) {
  for_each_type(Formats{}, []<class F>() {
    for (const std::int64_t rows : {1, 15, 16, 17, 33}) {
      const std::int64_t cols = F::kBlock * 3;
      SCOPED_TRACE(cat(F::kName, " rows ", rows));
      const RandomRows source(F::kFormat, rows, cols);
      std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes({F::kFormat}, cols)));
      for (std::int64_t first = 0; first < rows; first += kPanelCols) {
        pack_panel(source.view, first, false, panel.data());
        for (int c = 0; c < kPanelCols && first + c < rows; ++c) {
          std::vector<float> want(static_cast<std::size_t>(cols)), got(want);
          decode_row(F::kFormat, source.view.row_data(first + c), cols, want.data());
          unpack_column({F::kFormat}, panel.data(), c, cols, got.data());
          EXPECT_TRUE(same_bits(want, got)) << "column " << c;
        }
      }
    }
  });
}

TEST(Panel, ColumnsPastTheLastRowAreZeroScales) {
  const RandomRows source(Q4_K::kFormat, 3, 256);
  std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes({Q4_K::kFormat}, 256)),
                               std::byte{0xff});
  pack_panel(source.view, 0, false, panel.data());
  std::vector<float> got(256, 1.0f);
  unpack_column({Q4_K::kFormat}, panel.data(), 3, 256, got.data());
  for (const float w : got) EXPECT_EQ(w, 0.0f);
}

TEST(Panel, InfiniteScalesBecomeNaN) {
  RandomRows source(Q8_0::kFormat, 16, 32);
  auto* block = const_cast<std::byte*>(source.view.row_data(5));
  block[0] = std::byte{0};
  block[1] = std::byte{0xfc};
  std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes({Q8_0::kFormat}, 32)));
  pack_panel(source.view, 0, false, panel.data());
  std::vector<float> got(32);
  unpack_column({Q8_0::kFormat}, panel.data(), 5, 32, got.data());
  for (const float w : got) EXPECT_TRUE(std::isnan(w));
}

TEST(Panel, PairsDecodeAsTheRowsOfTheFileButForTinyWeights) {
  for (const std::int64_t cols : {1, 31, 32, 33, 96}) {
    SCOPED_TRACE(cat("cols ", cols));
    const RandomRows source(BF16::kFormat, 17, cols);
    std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes({BF16::kFormat, true}, cols)),
                                 std::byte{0xff});
    EXPECT_EQ(std::ssize(panel), (cols + 31) / 32 * 1024);
    for (std::int64_t first = 0; first < 17; first += kPanelCols) {
      pack_panel(source.view, first, true, panel.data());
      for (int c = 0; c < kPanelCols; ++c) {
        std::vector<float> want(static_cast<std::size_t>(cols)), got(want);
        if (first + c < 17) {
          decode_row(BF16::kFormat, source.view.row_data(first + c), cols, want.data());
        }
        for (float& w : want) w = std::abs(w) < 0x1p-48f ? 0 : w;
        unpack_column({BF16::kFormat, true}, panel.data(), c, cols, got.data());
        EXPECT_TRUE(same_bits(want, got)) << "column " << c;
      }
    }
  }
}

TEST(Panel, PairsPadTheLastBlockWithZeros) {
  const RandomRows source(BF16::kFormat, 16, 35);
  std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes({BF16::kFormat, true}, 35)),
                               std::byte{0xff});
  pack_panel(source.view, 0, true, panel.data());
  std::vector<float> got(64);
  unpack_column({BF16::kFormat, true}, panel.data(), 7, 64, got.data());
  for (std::size_t k = 35; k < 64; ++k) EXPECT_EQ(got[k], 0.0f) << k;
}

/// Packed weights are kept in files: where this fails, kPanelLayout has to be raised.
TEST(Panel, IsTheLayoutThatItsVersionNames) {
  std::uint64_t sum = 0;
  for_each_type(Formats{}, [&sum]<class F>() {
    const std::int64_t cols = F::kBlock * 2;
    const RandomRows source(F::kFormat, 19, cols);
    std::vector<std::byte> panels(static_cast<std::size_t>(2 * panel_bytes({F::kFormat}, cols)));
    pack_panel(source.view, 0, false, panels.data());
    pack_panel(source.view, kPanelCols, false, panels.data() + panels.size() / 2);
    sum = sum * 31 + checksum(panels);
  });
  const RandomRows source(BF16::kFormat, 19, 70);
  std::vector<std::byte> pairs(static_cast<std::size_t>(panel_bytes({BF16::kFormat, true}, 70)));
  pack_panel(source.view, kPanelCols, true, pairs.data());
  sum = sum * 31 + checksum(pairs);
  EXPECT_EQ(kPanelLayout, 3u);
  EXPECT_EQ(sum, 6548526083864794910u);
}

TEST(Panel, NeedsAtMostFourPercentMoreThanTheFile) {
  for_each_type(Formats{}, []<class F>() {
    const std::int64_t cols = 256;
    const std::int64_t file = kPanelCols * row_bytes(F::kFormat, cols);
    EXPECT_LE(panel_bytes({F::kFormat}, cols) * 100, file * 104) << F::kName;
  });
}

}  // namespace
}  // namespace ingot
