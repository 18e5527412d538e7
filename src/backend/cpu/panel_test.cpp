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
      std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes(F::kFormat, cols)));
      for (std::int64_t first = 0; first < rows; first += kPanelCols) {
        pack_panel(source.view, first, panel.data());
        for (int c = 0; c < kPanelCols && first + c < rows; ++c) {
          std::vector<float> want(static_cast<std::size_t>(cols)), got(want);
          decode_row(F::kFormat, source.view.row_data(first + c), cols, want.data());
          unpack_column(F::kFormat, panel.data(), c, cols, got.data());
          EXPECT_TRUE(same_bits(want, got)) << "column " << c;
        }
      }
    }
  });
}

TEST(Panel, ColumnsPastTheLastRowAreZeroScales) {
  const RandomRows source(Q4_K::kFormat, 3, 256);
  std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes(Q4_K::kFormat, 256)),
                               std::byte{0xff});
  pack_panel(source.view, 0, panel.data());
  std::vector<float> got(256, 1.0f);
  unpack_column(Q4_K::kFormat, panel.data(), 3, 256, got.data());
  for (const float w : got) EXPECT_EQ(w, 0.0f);
}

TEST(Panel, InfiniteScalesBecomeNaN) {
  RandomRows source(Q8_0::kFormat, 16, 32);
  auto* block = const_cast<std::byte*>(source.view.row_data(5));
  block[0] = std::byte{0};
  block[1] = std::byte{0xfc};
  std::vector<std::byte> panel(static_cast<std::size_t>(panel_bytes(Q8_0::kFormat, 32)));
  pack_panel(source.view, 0, panel.data());
  std::vector<float> got(32);
  unpack_column(Q8_0::kFormat, panel.data(), 5, 32, got.data());
  for (const float w : got) EXPECT_TRUE(std::isnan(w));
}

/// Packed weights are kept in files: where this fails, kPanelLayout has to be raised.
TEST(Panel, IsTheLayoutThatItsVersionNames) {
  std::uint64_t sum = 0;
  for_each_type(Formats{}, [&sum]<class F>() {
    const std::int64_t cols = F::kBlock * 2;
    const RandomRows source(F::kFormat, 19, cols);
    std::vector<std::byte> panels(static_cast<std::size_t>(2 * panel_bytes(F::kFormat, cols)));
    pack_panel(source.view, 0, panels.data());
    pack_panel(source.view, kPanelCols, panels.data() + panels.size() / 2);
    sum = sum * 31 + checksum(panels);
  });
  EXPECT_EQ(kPanelLayout, 2u);
  EXPECT_EQ(sum, 9305519134642920978u);
}

TEST(Panel, NeedsAtMostFourPercentMoreThanTheFile) {
  for_each_type(Formats{}, []<class F>() {
    const std::int64_t cols = 256;
    const std::int64_t file = kPanelCols * row_bytes(F::kFormat, cols);
    EXPECT_LE(panel_bytes(F::kFormat, cols) * 100, file * 104) << F::kName;
  });
}

}  // namespace
}  // namespace ingot
