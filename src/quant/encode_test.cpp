// Tests of encoding: bytes and errors against ggml's results, round trips, edge values, refusals.
#include "quant/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "quant/test_data.h"

namespace ingot {
namespace {

using testing::Random;

const Format kBlockEncoders[] = {Q8_0::kFormat, Q4_0::kFormat, Q5_0::kFormat, Q5_1::kFormat,
                                 Q4_K::kFormat, Q5_K::kFormat, Q6_K::kFormat};
const Format kSuperBlocks[] = {Q4_K::kFormat, Q5_K::kFormat, Q6_K::kFormat};

/// Whether encoding promises ggml's bytes.
bool has_ggml_bytes(Format format, bool weighted) {
  if (format == Q5_1::kFormat) return !weighted;
  return format == Q8_0::kFormat || format == Q4_0::kFormat || format == Q5_0::kFormat;
}

std::vector<std::byte> encode(Format format, const std::vector<float>& x,
                              const float* importance = nullptr) {
  const auto cols = static_cast<std::int64_t>(x.size());
  std::vector<std::byte> out(to_size(row_bytes(format, cols)));
  encode_row(format, x.data(), cols, out.data(), importance);
  return out;
}

std::vector<float> decode(Format format, const std::vector<std::byte>& bytes) {
  const FormatInfo& info = format_info(format);
  const auto cols = static_cast<std::int64_t>(bytes.size()) / info.block_bytes * info.block;
  std::vector<float> out(to_size(cols));
  decode_row(format, bytes.data(), cols, out.data());
  return out;
}

/// Root of the mean weighted squared difference; `weight` repeats over rows, empty for equal
/// weights.
double rmse(const std::vector<float>& a, const std::vector<float>& b,
            const std::vector<float>& weight = {}) {
  double sum = 0;
  double total = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double w = weight.empty() ? 1 : weight[k % weight.size()];
    const double difference = static_cast<double>(a[k]) - b[k];
    sum += w * difference * difference;
    total += w;
  }
  return std::sqrt(sum / total);
}

std::vector<float> uniform_row(std::uint64_t seed, std::size_t cols, float scale = 1) {
  Random random(seed);
  std::vector<float> x(cols);
  for (float& v : x) v = scale * random.uniform();
  return x;
}

/// The importance of the shared vectors: mulberry32 with seed 2, |u| + 1e-3 (see their README).
std::vector<float> shared_importance(std::size_t cols) {
  std::uint32_t state = 2;
  std::vector<float> importance(cols);
  for (float& v : importance) {
    state += 0x6D2B79F5u;
    std::uint32_t t = state;
    t = (t ^ (t >> 15)) * (t | 1u);
    t ^= t + (t ^ (t >> 7)) * (t | 61u);
    t ^= t >> 14;
    v = std::fabs(static_cast<float>(t) / 4294967296.0f * 2.0f - 1.0f) + 1e-3f;
  }
  return importance;
}

/// One shared vector: TYPE_COLS_{noim,im}_input.bin beside ..._expected.bin.
struct SharedCase {
  std::string name;
  Format format;
  std::vector<float> input;
  std::vector<std::byte> expected;
  std::vector<float> importance;  ///< empty for noim
  std::size_t cols;
};

std::vector<SharedCase> shared_cases() {
  const auto folder = shared_folder("data/quants/ggml_quants");
  std::vector<SharedCase> cases;
  if (!std::filesystem::is_directory(folder)) return cases;
  const auto formats = testing::formats_by_file_name();
  const std::string suffix = "_input.bin";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(suffix)) continue;
    const std::string stem = file.substr(0, file.size() - suffix.size());
    const std::size_t kind = stem.rfind('_');
    const std::size_t size = stem.rfind('_', kind - 1);
    const std::string type = stem.substr(0, size);
    EXPECT_TRUE(formats.contains(type)) << file;
    if (!formats.contains(type)) continue;
    SharedCase c{.name = stem,
                 .format = formats.at(type),
                 .input = testing::read_floats(entry.path()),
                 .expected = testing::read_bytes(folder / (stem + "_expected.bin")),
                 .importance = {},
                 .cols = std::stoul(stem.substr(size + 1, kind - size - 1))};
    if (stem.substr(kind) == "_im") c.importance = shared_importance(c.cols);
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<std::byte> encode_rows(const SharedCase& c) {
  std::vector<std::byte> bytes;
  for (std::size_t at = 0; at < c.input.size(); at += c.cols) {
    const std::vector<float> row(c.input.begin() + static_cast<std::ptrdiff_t>(at),
                                 c.input.begin() + static_cast<std::ptrdiff_t>(at + c.cols));
    const auto encoded =
        encode(c.format, row, c.importance.empty() ? nullptr : c.importance.data());
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  }
  return bytes;
}

TEST(Encode, EqualsGgmlBytesOrReachesItsError) {
  const auto cases = shared_cases();
  if (cases.empty()) GTEST_SKIP() << "no shared quantisation vectors (set INGOT_SHARED)";
  int exact = 0;
  int searched = 0;
  for (const SharedCase& c : cases) {
    if (!can_encode(c.format)) continue;
    const auto bytes = encode_rows(c);
    ASSERT_EQ(bytes.size(), c.expected.size()) << c.name;
    if (has_ggml_bytes(c.format, !c.importance.empty())) {
      EXPECT_EQ(bytes, c.expected) << c.name;
      ++exact;
      continue;
    }
    const double ours = rmse(c.input, decode(c.format, bytes), c.importance);
    const double theirs = rmse(c.input, decode(c.format, c.expected), c.importance);
    EXPECT_GT(theirs, 0) << c.name;
    EXPECT_LE(ours, theirs) << c.name;
    RecordProperty(c.name, std::to_string(ours / theirs));
    ++searched;
  }
  EXPECT_GT(exact, 0);
  EXPECT_GT(searched, 0);
}

// The inputs of the shared vectors are uniform in [-1, 1]: a uniform rounding to 2^bits levels over
// a range of 2 has an error of 2 / 2^bits / sqrt(12); the search must come near it or below (scales
// follow each sub-block's range).
TEST(Encode, ErrorIsThatOfTheBits) {
  struct Case {
    Format format;
    int bits;
  };
  for (const Case c : {Case{Q8_0::kFormat, 8},
                       {Q4_0::kFormat, 4},
                       {Q5_0::kFormat, 5},
                       {Q5_1::kFormat, 5},
                       {Q4_K::kFormat, 4},
                       {Q5_K::kFormat, 5},
                       {Q6_K::kFormat, 6}}) {
    const auto x = uniform_row(3, 4096);
    const double bound = 2.0 / (1 << c.bits) / std::sqrt(12.0);
    EXPECT_LE(rmse(x, decode(c.format, encode(c.format, x))), 1.05 * bound)
        << format_name(c.format);
  }
}

TEST(Encode, SearchSurvivesHardRows) {
  for (const Format format : kSuperBlocks) {
    auto outlier = uniform_row(4, 512, 0.01f);
    outlier[7] = 30;
    outlier[300] = -50;
    const auto shifted = [] {
      auto x = uniform_row(5, 512, 0.1f);
      for (float& v : x) v += 5;
      return x;
    }();
    const auto negative = [&] {
      auto x = shifted;
      for (float& v : x) v = -v;
      return x;
    }();
    auto ramps = uniform_row(6, 512);
    for (std::size_t k = 0; k < ramps.size(); ++k)
      ramps[k] *= std::ldexp(1.0f, -static_cast<int>(k / 32));
    for (const std::vector<float>& x : {outlier, shifted, negative, ramps}) {
      const auto y = decode(format, encode(format, x));
      float largest = 0;
      for (const float v : x) largest = std::max(largest, std::fabs(v));
      const double levels = format == Q4_K::kFormat ? 15 : format == Q5_K::kFormat ? 31 : 62;
      EXPECT_LE(rmse(x, y), largest / levels) << format_name(format);
    }
  }
}

TEST(Encode, RepresentableRowsComeBack) {
  // Each block holds its format's extreme code, which fixes the scale, so encoding finds the very
  // values.
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    Q8_0::Block q8{.d = 0x2E66, .qs = {}};
    for (auto& q : q8.qs) q = static_cast<std::int8_t>(static_cast<int>(random.next() % 255) - 127);
    q8.qs[random.next() % 32] = 127;
    Q4_0::Block q4{.d = 0x2E66, .qs = {}};
    for (auto& q : q4.qs) q = static_cast<std::uint8_t>(random.next());
    q4.qs[random.next() % 16] &= 0xF0;
    for (const Format format : {Q8_0::kFormat, Q4_0::kFormat}) {
      std::vector<std::byte> block(to_size(row_bytes(format, 32)));
      std::memcpy(block.data(), format == Q8_0::kFormat ? static_cast<void*>(&q8) : &q4,
                  block.size());
      const auto x = decode(format, block);
      EXPECT_EQ(decode(format, encode(format, x)), x) << format_name(format);
    }
  }
  for (const Format format : kSuperBlocks) {
    const auto x = decode(format, encode(format, uniform_row(8, 1024)));
    const auto again = decode(format, encode(format, x));
    const double bound = format == Q4_K::kFormat ? 4e-3 : format == Q5_K::kFormat ? 3e-3 : 2e-3;
    EXPECT_LE(rmse(x, again), bound) << format_name(format);
  }
}

TEST(Encode, TiesAreRoundedAsGgmlDoes) {
  std::vector<float> x(32, 0.0f);
  x[0] = 127;  // the scale of Q8_0 is 1: halves go away from zero
  x[1] = 0.5f;
  x[2] = 2.5f;
  x[3] = -2.5f;
  const auto q8 = decode(Q8_0::kFormat, encode(Q8_0::kFormat, x));
  EXPECT_EQ(std::vector<float>(q8.begin(), q8.begin() + 5), (std::vector<float>{127, 1, 3, -3, 0}));
  x[0] = -8;  // the scale of Q4_0 is 1: halves go up
  x[4] = 8;   // as large, but later: it does not turn the scale, and 7 is the highest value
  const auto q4 = decode(Q4_0::kFormat, encode(Q4_0::kFormat, x));
  EXPECT_EQ(std::vector<float>(q4.begin(), q4.begin() + 5), (std::vector<float>{-8, 1, 3, -2, 7}));
}

TEST(Encode, DenseRowsAreRoundedOnce) {
  const std::vector<float> x = {1.0f, 1.0f + 0x1p-11f, -3.1415927f, 65519.0f, 1e-8f, -0.0f};
  const auto half = decode(F16::kFormat, encode(F16::kFormat, x));
  EXPECT_EQ(half, (std::vector<float>{1.0f, 1.0f, -3.140625f, 65504.0f, 0.0f, 0.0f}));
  EXPECT_TRUE(std::signbit(half[5]));
  const auto bfloat = decode(BF16::kFormat, encode(BF16::kFormat, x));
  EXPECT_EQ(bfloat[2], -3.140625f);
  EXPECT_EQ(bfloat[3], 65536.0f);
  EXPECT_EQ(decode(F32::kFormat, encode(F32::kFormat, x)), x);
}

TEST(Encode, ZeroAndTinyRows) {
  for (const Format format : kBlockEncoders) {
    const std::vector<float> zero(256, 0.0f);
    EXPECT_EQ(decode(format, encode(format, zero)), zero) << format_name(format);
    for (const float tiny : {1e-45f, 1e-38f, 1e-20f, 1e-8f}) {
      const std::vector<float> importance(256, 1.0f);
      const auto x = uniform_row(9, 256, tiny);
      for (const float v : decode(format, encode(format, x, importance.data()))) {
        EXPECT_LE(std::fabs(v), 1e-6f) << format_name(format) << " " << tiny;
      }
      const auto y = decode(format, encode(format, x));
      for (const float v : y) EXPECT_LE(std::fabs(v), 1e-6f) << format_name(format) << " " << tiny;
    }
    // Every scale is a subnormal half here, and still means something.
    const auto small = uniform_row(10, 256, 1e-3f);
    EXPECT_LE(rmse(small, decode(format, encode(format, small))), 2e-4) << format_name(format);
    const std::vector<float> same(256, -0.75f);
    EXPECT_LE(rmse(same, decode(format, encode(format, same))), 1e-3) << format_name(format);
  }
}

TEST(Encode, ImportanceMovesTheError) {
  const auto x = uniform_row(11, 512);
  auto importance = std::vector<float>(512, 1e-3f);
  for (std::size_t k = 0; k < importance.size(); k += 8) importance[k] = 1;
  for (const Format format : kBlockEncoders) {
    if (format == Q8_0::kFormat) continue;  // ignores the importance
    const auto plain = decode(format, encode(format, x));
    const auto weighted = decode(format, encode(format, x, importance.data()));
    EXPECT_LT(rmse(x, weighted, importance), 0.8 * rmse(x, plain, importance))
        << format_name(format);
    const std::vector<float> none(512, 0.0f);
    EXPECT_EQ(encode(format, x, none.data()), encode(format, x)) << format_name(format);
  }
}

std::optional<std::string> refusal(Format format, const std::vector<float>& x,
                                   const float* importance = nullptr) {
  try {
    encode(format, x, importance);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    return error.message();
  }
  return std::nullopt;
}

TEST(Encode, RefusesWhatIsNotFinite) {
  for_each_type(Formats{}, []<class T>() {
    if (!can_encode(T::kFormat)) return;
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      for (const std::size_t place : {0u, 100u, 255u}) {
        auto x = uniform_row(12, 256);
        x[place] = bad;
        const auto message = refusal(T::kFormat, x);
        ASSERT_TRUE(message.has_value()) << T::kName;
        EXPECT_NE(message->find("value " + std::to_string(place) + " is "), std::string::npos)
            << *message;
      }
    }
    const auto x = uniform_row(12, 256);
    for (const float bad :
         {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      auto importance = std::vector<float>(256, 1.0f);
      importance[9] = bad;
      EXPECT_TRUE(refusal(T::kFormat, x, importance.data()).has_value()) << T::kName;
    }
  });
}

TEST(Encode, RefusesWhatIsTooLarge) {
  for (const Format format : kBlockEncoders) {
    for (const float large : {1e10f, 3e38f}) {
      for (const float sign : {1.0f, -1.0f}) {
        auto x = uniform_row(13, 256);
        x[77] = sign * large;
        const std::vector<float> importance(256, 1.0f);
        for (const float* weights : {static_cast<const float*>(nullptr), importance.data()}) {
          const auto message = refusal(format, x, weights);
          ASSERT_TRUE(message.has_value()) << format_name(format) << " " << large;
          EXPECT_NE(message->find(format_name(format)), std::string::npos) << *message;
        }
      }
    }
    if (format == Q5_1::kFormat) continue;  // its minimum is an F16, beyond which 1e5 is
    const auto x = uniform_row(14, 256, 1e5f);
    EXPECT_FALSE(refusal(format, x)) << format_name(format);
    EXPECT_LE(rmse(x, decode(format, encode(format, x))), 5e3) << format_name(format);
  }
  EXPECT_TRUE(refusal(F16::kFormat, {65520.0f}));
  EXPECT_FALSE(refusal(F16::kFormat, {65519.0f}));
  EXPECT_TRUE(refusal(BF16::kFormat, {3.4e38f}));
  EXPECT_FALSE(refusal(F32::kFormat, {3.4e38f}));
}

TEST(EncodeDeathTest, FormatsWithoutEncoderAreBugs) {
  EXPECT_FALSE(can_encode(Q2_K::kFormat));
  EXPECT_FALSE(can_encode(MXFP4::kFormat));
  EXPECT_DEATH(encode(Q2_K::kFormat, uniform_row(15, 256)), "no encoder for Q2_K");
  std::byte out[64];
  const auto x = uniform_row(15, 33);
  EXPECT_DEATH(encode_row(Q8_0::kFormat, x.data(), 33, out), "33 weights");
}

}  // namespace
}  // namespace ingot
