// Tests of the list of formats: numbers, sizes, value ranges, exact scales, and rows against
// goldens.
#include "quant/formats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "base/index.h"
#include "quant/test_data.h"

namespace ingot {
namespace {

using testing::Random;

constexpr std::uint32_t kHighestType = 1000;

std::vector<std::byte> random_bytes(Random& random, std::int64_t count) {
  std::vector<std::byte> bytes(to_size(count));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.next() >> 56);
  return bytes;
}

TEST(Formats, NumbersAndSizesAreThoseOfGguf) {
  struct Row {
    std::uint32_t type;
    const char* name;
    int block;
    int block_bytes;
  };
  // Source: the GGUF specification's table of types and block layouts.
  const Row rows[] = {{0, "F32", 1, 4},       {1, "F16", 1, 2},       {30, "BF16", 1, 2},
                      {2, "Q4_0", 32, 18},    {3, "Q4_1", 32, 20},    {6, "Q5_0", 32, 22},
                      {7, "Q5_1", 32, 24},    {8, "Q8_0", 32, 34},    {10, "Q2_K", 256, 84},
                      {11, "Q3_K", 256, 110}, {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176},
                      {14, "Q6_K", 256, 210}, {20, "IQ4_NL", 32, 18}, {23, "IQ4_XS", 256, 136},
                      {39, "MXFP4", 32, 17}};
  std::set<std::uint32_t> listed;
  for (const Row& row : rows) {
    const auto format = format_from_ggml(row.type);
    ASSERT_TRUE(format.has_value()) << row.name;
    EXPECT_EQ(static_cast<std::uint32_t>(*format), row.type);
    const FormatInfo& info = format_info(*format);
    EXPECT_STREQ(info.name, row.name);
    EXPECT_EQ(info.block, row.block) << row.name;
    EXPECT_EQ(info.block_bytes, row.block_bytes) << row.name;
    EXPECT_EQ(info.dense, row.block == 1) << row.name;
    EXPECT_STREQ(format_name(*format), row.name);
    EXPECT_STREQ(ggml_type_name(row.type), row.name);
    EXPECT_EQ(row_bytes(*format, 0), 0);
    EXPECT_EQ(row_bytes(*format, row.block), row.block_bytes);
    EXPECT_EQ(row_bytes(*format, 3 * std::int64_t{row.block} << 30),
              3 * std::int64_t{row.block_bytes} << 30);
    listed.insert(row.type);
  }
  for (std::uint32_t type = 0; type < kHighestType; ++type) {
    EXPECT_EQ(format_from_ggml(type).has_value(), listed.contains(type)) << type;
  }
  EXPECT_FALSE(format_from_ggml(0xFFFFFFFF));
  EXPECT_FALSE(format_from_ggml(256));  // Format has 8 bits: must not wrap to F32
}

TEST(Formats, UnsupportedTypesHaveNames) {
  EXPECT_STREQ(ggml_type_name(9), "Q8_1");
  EXPECT_STREQ(ggml_type_name(24), "I8");
  EXPECT_STREQ(ggml_type_name(28), "F64");
  EXPECT_STREQ(ggml_type_name(34), "TQ1_0");
  EXPECT_STREQ(ggml_type_name(40), "NVFP4");
  for (const std::uint32_t removed : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 1000u, 0xFFFFFFFFu}) {
    EXPECT_EQ(ggml_type_name(removed), nullptr) << removed;
  }
}

TEST(Formats, VisitReachesEveryFormat) {
  std::set<std::uint32_t> visited;
  for_each_type(Formats{}, [&]<class T>() {
    EXPECT_TRUE(visited.insert(static_cast<std::uint32_t>(T::kFormat)).second) << T::kName;
    const bool same = visit_format(T::kFormat, []<class U>() { return std::is_same_v<T, U>; });
    EXPECT_TRUE(same) << T::kName;
  });
  for (std::uint32_t type = 0; type < kHighestType; ++type) {
    EXPECT_EQ(format_from_ggml(type).has_value(), visited.contains(type)) << type;
  }
}

TEST(FormatsDeathTest, WrongShapesAndNumbersAreBugs) {
  EXPECT_DEATH(row_bytes(Q4_K::kFormat, 255), "255 weights in blocks of 256 .Q4_K.");
  EXPECT_DEATH(row_bytes(Q8_0::kFormat, 33), "33 weights in blocks of 32 .Q8_0.");
  EXPECT_DEATH(row_bytes(F32::kFormat, -1), "-1 weights");
  EXPECT_DEATH(row_bytes(F32::kFormat, std::int64_t{1} << 61), "weights of F32");
  EXPECT_DEATH(format_info(Format{4}), "format 4");
  EXPECT_DEATH(format_info(Format{255}), "format 255");
  EXPECT_DEATH(visit_format(Format{255}, []<class T>() {}), "format 255");
  float out[64];
  const std::byte row[64] = {};
  EXPECT_DEATH(decode_row(Q4_0::kFormat, row, 31, out), "31 weights");
}

TEST(Formats, ValuesFitInt8AndCodesFitTheirBits) {
  Random random(1);
  for_each_type(Formats{}, [&]<class T>() {
    if constexpr (BlockFormat<T>) {
      for (int code = 0; code < 1 << T::kBits; ++code) {
        EXPECT_GE(T::value(code), -128) << T::kName;
        EXPECT_LE(T::value(code), 127) << T::kName;
      }
      int highest = 0;
      for (int round = 0; round < 100; ++round) {
        const auto bytes = random_bytes(random, block_bytes<T>());
        typename T::Block block;
        std::memcpy(&block, bytes.data(), sizeof block);
        for (int group = 0; group < T::kBlock / kGroup; ++group) {
          GroupCodes codes;
          std::memset(&codes, 0xAA, sizeof codes);  // shows fields that unpack forgets
          T::unpack(block, group, codes);
          for (const int code : codes.code) {
            ASSERT_LT(code, 1 << T::kBits) << T::kName;
            highest = std::max(highest, code);
          }
          for (int j = T::kScales; j < 2; ++j) {
            EXPECT_EQ(codes.scale[j], 0) << T::kName;
            EXPECT_EQ(codes.min[j], 0) << T::kName;
          }
          if (!T::kSubScales) {
            EXPECT_EQ(codes.scale[0], 1) << T::kName;
            EXPECT_EQ(codes.min[0], T::kMinSign == 0 ? 0 : 1) << T::kName;
          }
          EXPECT_TRUE(T::kMinSign != 0 || codes.m == 0) << T::kName;
        }
      }
      EXPECT_EQ(highest, (1 << T::kBits) - 1) << T::kName;
    }
  });
}

// exactness.md: w_j = d * sc_j and m_j = dmin * min_j have no rounding error, whatever the file
// holds.
TEST(Formats, ScaleProductsAreExact) {
  for_each_type(Formats{}, [&]<class T>() {
    if constexpr (BlockFormat<T>) {
      const int bits_end = std::is_same_v<T, MXFP4> ? 0x100 : 0x10000;
      for (int bits = 0; bits < bits_end; ++bits) {
        const float d = T::scale_value(static_cast<std::uint16_t>(bits));
        if (!std::isfinite(d)) continue;
        for (int scale = T::kSubScales ? -128 : 1; scale <= (T::kSubScales ? 127 : 1); ++scale) {
          const float product = d * static_cast<float>(scale);
          ASSERT_EQ(static_cast<double>(product), static_cast<double>(d) * scale)
              << T::kName << " d=" << d << " scale=" << scale;
        }
      }
    }
  });
}

TEST(Formats, E8m0ScalesArePowersOfTwo) {
  for (int e = 0; e < 256; ++e) {
    const float d = MXFP4::scale_value(static_cast<std::uint16_t>(e));
    EXPECT_EQ(static_cast<double>(d), std::ldexp(1.0, e - 128)) << e;
  }
}

TEST(Formats, RowsAreDecodedFromTheirCodes) {
  Random random(2);
  for_each_type(Formats{}, [&]<class T>() {
    if constexpr (BlockFormat<T>) {
      constexpr int kBlocks = 5;
      const auto bytes = random_bytes(random, kBlocks * block_bytes<T>());
      // One byte further on: a row need not be aligned.
      std::vector<std::byte> shifted(bytes.size() + 1);
      std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
      std::vector<float> out(kBlocks * T::kBlock);
      decode_row(T::kFormat, shifted.data() + 1, kBlocks * T::kBlock, out.data());
      for (int k = 0; k < kBlocks * T::kBlock; ++k) {
        typename T::Block block;
        std::memcpy(&block, bytes.data() + k / T::kBlock * block_bytes<T>(), sizeof block);
        GroupCodes codes;
        T::unpack(block, k % T::kBlock / kGroup, codes);
        const int j = k % kGroup / (kGroup / T::kScales);
        const double d = T::scale_value(codes.d);
        const double m = T::kMinSign == 0 ? 0 : T::scale_value(codes.m);
        // The first product has at most 11 + 7 + 8 significant bits, so a double holds everything
        // exactly; the float rounds the product and the sum.
        const double product = d * codes.scale[j] * T::value(codes.code[k % kGroup]);
        const double min = T::kMinSign * m * codes.min[j];
        const float expected =
            T::kMinSign == 0
                ? static_cast<float>(product)
                : static_cast<float>(static_cast<double>(static_cast<float>(product)) + min);
        const float actual = at(out, k);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(actual)) << T::kName << " " << k;
        } else {
          ASSERT_EQ(actual, expected) << T::kName << " " << k;
        }
      }
    }
  });
}

TEST(Formats, DenseRowsAreWidenedExactly) {
  const std::uint16_t half[] = {0x3C00, 0x8001, 0x7BFF, 0x0000};
  float out[4];
  decode_row(F16::kFormat, reinterpret_cast<const std::byte*>(half), 4, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -0x1p-24f);
  EXPECT_EQ(out[2], 65504.0f);
  EXPECT_EQ(out[3], 0.0f);
  const std::uint16_t bfloat[] = {0x3F80, 0xC040, 0x0001, 0x7F7F};
  decode_row(BF16::kFormat, reinterpret_cast<const std::byte*>(bfloat), 4, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -3.0f);
  EXPECT_EQ(out[2], 0x1p-133f);
  EXPECT_EQ(out[3], 0x1.FEp127f);
  const float plain[] = {1.5f, -0.0f, 0x1p-149f, 3.4e38f};
  decode_row(F32::kFormat, reinterpret_cast<const std::byte*>(plain), 4, out);
  EXPECT_EQ(std::memcmp(out, plain, sizeof out), 0);
}

// Expects single weights of unpack and decode, by the formats' definitions; needs no shared
// goldens.
TEST(Formats, PlacesOfSingleWeights) {
  Q4_0::Block q4{.d = 0x3C00, .qs = {}};
  q4.qs[3] = 0xF2;
  float out[256];
  decode_row(Q4_0::kFormat, reinterpret_cast<const std::byte*>(&q4), 32, out);
  EXPECT_EQ(out[0], -8.0f);
  EXPECT_EQ(out[3], -6.0f);
  EXPECT_EQ(out[19], 7.0f);

  Q6_K::Block q6{};
  q6.d = 0x3C00;
  q6.scales[5] = -3;   // weights 80 to 95
  q6.ql[32 + 20] = 0;  // weight 84 is in group 2 of the first half: high nibble of byte 20
  q6.ql[20] = 0x50;
  q6.qh[20] = 0x30;
  decode_row(Q6_K::kFormat, reinterpret_cast<const std::byte*>(&q6), 256, out);
  EXPECT_EQ(out[84], -3.0f * (0x35 - 32));
  EXPECT_EQ(out[83], -3.0f * -32);
  EXPECT_EQ(out[20], 0.0f);

  Q4_K::Block q4k{};
  q4k.d = 0x3C00;
  q4k.dmin = 0x4000;         // 2
  q4k.scales[5 + 4] = 0x7A;  // pair 5: scale 0x.A, min 0x.7
  q4k.scales[1] = 0x40;      // scale 5 is 0x1A
  q4k.scales[5] = 0x80;      // min 5 is 0x27
  q4k.qs[64 + 9] = 0x90;     // weight 32 * 5 + 9 has code 9
  decode_row(Q4_K::kFormat, reinterpret_cast<const std::byte*>(&q4k), 256, out);
  EXPECT_EQ(out[160 + 9], 26.0f * 9 - 2 * 39);
  EXPECT_EQ(out[160], -78.0f);
  EXPECT_EQ(out[128], 0.0f);
}

TEST(Formats, DecodeEqualsGoldensBitForBit) {
  const auto folder = shared_folder("goldens/quant");
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no folder " << folder << " (set INGOT_SHARED)";
  }
  const auto formats = testing::formats_by_file_name();
  constexpr std::string_view kSuffix = ".blocks.bin";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(kSuffix)) continue;
    const std::string name = file.substr(0, file.size() - kSuffix.size());
    ASSERT_TRUE(formats.contains(name)) << file << " is of no known format";
    const Format format = formats.at(name);
    const auto blocks = testing::read_bytes(entry.path());
    const auto expected = testing::read_floats(folder / (name + ".f32.bin"));
    const auto cols = static_cast<std::int64_t>(expected.size());
    ASSERT_GT(cols, 0) << file;
    ASSERT_EQ(row_bytes(format, cols), static_cast<std::int64_t>(blocks.size())) << file;
    std::vector<float> actual(expected.size());
    decode_row(format, blocks.data(), cols, actual.data());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(actual[k]), std::bit_cast<std::uint32_t>(expected[k]))
          << file << " weight " << k << ": " << actual[k] << " instead of " << expected[k];
    }
    ++files;
  }
  EXPECT_GT(files, 0) << "no files in " << folder;
}

}  // namespace
}  // namespace ingot
