// Tests of parts of weights: stored, turned, every second row, and MXFP4 in two tensors.
#include "model/part_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/half.h"
#include "quant/formats.h"

namespace ingot {
namespace {

/// A tensor over bytes that outlive it.
template <class T>
TensorInfo tensor(const std::vector<T>& values, std::vector<std::int64_t> shape,
                  std::optional<Format> format) {
  TensorInfo t;
  t.name = "t";
  t.shape = std::move(shape);
  t.format = format;
  t.data = reinterpret_cast<const std::byte*>(values.data());
  t.bytes = values.size() * sizeof(T);
  return t;
}

std::vector<float> decoded(const BoundPart& part) {
  const PartRows rows = read_part(part);
  std::vector<float> all(static_cast<std::size_t>(part.rows * part.cols));
  for (std::int64_t r = 0; r < part.rows; ++r) {
    decode_row(rows.view.format, rows.view.row_data(r), part.cols, all.data() + r * part.cols);
  }
  return all;
}

using Values = std::vector<float>;

TEST(PartRows, EverySecondRowIsAViewOfTheFile) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const TensorInfo t = tensor(values, {2, 3, 2}, F32::kFormat);
  BoundPart part{.tensor = &t, .first_row = 1, .rows = 3, .cols = 2, .row_step = 2};
  EXPECT_EQ(decoded(part), (Values{3, 4, 7, 8, 11, 12}));
  EXPECT_EQ(part_memory_bytes(part), 0);
  EXPECT_TRUE(part.ends_tensor());
  part.first_row = 0;
  EXPECT_EQ(decoded(part), (Values{1, 2, 5, 6, 9, 10}));
  EXPECT_FALSE(part.ends_tensor());
}

TEST(PartRows, ATurnedPartHasInputsAsStoredRows) {
  // Two experts [2 inputs, 4 outputs].
  std::vector<std::uint16_t> values;
  for (int i = 1; i <= 16; ++i) values.push_back(float_to_half(static_cast<float>(i)));
  const TensorInfo t = tensor(values, {2, 2, 4}, F16::kFormat);
  BoundPart part{.tensor = &t, .first_row = 2, .rows = 4, .cols = 2};
  part.turned = true;
  part.stored_cols = 4;
  EXPECT_EQ(part.format(), F16::kFormat);
  EXPECT_EQ(decoded(part), (Values{9, 13, 10, 14, 11, 15, 12, 16}));
  EXPECT_TRUE(part.ends_tensor());
  part.rows = 2;
  part.row_step = 2;
  part.first_col = 1;
  EXPECT_EQ(decoded(part), (Values{10, 14, 12, 16}));
  EXPECT_EQ(part_memory_bytes(part), 8);
}

TEST(PartRows, ATurnedPartOfBlocksIsDecoded) {
  std::vector<Q8_0::Block> blocks(2);
  for (int b = 0; b < 2; ++b) {
    blocks[b].d = float_to_half(0.5f);
    for (int i = 0; i < 32; ++i) blocks[b].qs[i] = static_cast<std::int8_t>(i + 40 * b);
  }
  const TensorInfo t = tensor(blocks, {2, 32}, Q8_0::kFormat);
  BoundPart part{.tensor = &t, .rows = 3, .cols = 2};
  part.turned = true;
  part.stored_cols = 32;
  part.first_col = 4;
  EXPECT_EQ(part.format(), F32::kFormat);
  EXPECT_EQ(decoded(part), (Values{2, 22, 2.5, 22.5, 3, 23}));
}

TEST(PartRows, CodesAndScalesBecomeMxfp4) {
  // Three rows of one block. Byte i of a row holds values 2i and 2i + 1.
  std::vector<std::uint8_t> codes(3 * 16);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>((2 * i) % 16 | ((2 * i + 1) % 16) << 4);
  }
  const std::vector<std::uint8_t> scales{127, 128, 129};
  const TensorInfo c = tensor(codes, {1, 3, 1, 16}, std::nullopt);
  const TensorInfo s = tensor(scales, {1, 3, 1}, std::nullopt);
  BoundPart part{.tensor = &c, .rows = 2, .cols = 32, .row_step = 2};
  part.scales = &s;
  EXPECT_EQ(part.format(), MXFP4::kFormat);
  EXPECT_TRUE(part.ends_tensor());
  const std::array<float, 16> value{0, 0.5f,  1,  1.5f,  2,  3,  4,  6,
                                    0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  const Values got = decoded(part);
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got[i], value[i % 16]) << i;
    EXPECT_EQ(got[32 + i], 4 * value[i % 16]) << i;
  }
}

}  // namespace
}  // namespace ingot
