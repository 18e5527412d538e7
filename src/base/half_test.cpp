// Tests of the 16-bit floats: every one of the 65,536 values, and rounding at every boundary, from
// first principles.
#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ingot {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool is_nan16(std::uint16_t bits, int fraction_bits) {
  const int infinity = 0x7FFF >> fraction_bits << fraction_bits;
  return (bits & 0x7FFF) > infinity;
}

/// The value of a 16-bit float by its definition, in double.
double value16(std::uint16_t bits, int fraction_bits, int bias) {
  const int exponent = (bits & 0x7FFF) >> fraction_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                    : std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryValueIsExact) {
  for (int i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float got = half_to_float(bits);
    if (is_nan16(bits, 10)) {
      ASSERT_TRUE(std::isnan(got)) << i;
      ASSERT_NE(std::bit_cast<std::uint32_t>(got) & 0x00400000u, 0u) << i << " is signalling";
      ASSERT_EQ(std::signbit(got), i >= 0x8000) << i;
    } else if ((i & 0x7FFF) == 0x7C00) {
      ASSERT_EQ(got, i >= 0x8000 ? -kInfinity : kInfinity);
    } else {
      ASSERT_EQ(static_cast<double>(got), value16(bits, 10, 15)) << i;
      ASSERT_EQ(std::signbit(got), i >= 0x8000) << i;
    }
  }
}

TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (int i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const bool nan = is_nan16(bits, 10);
    ASSERT_EQ(float_to_half(half_to_float(bits)), nan ? bits | 0x0200 : bits) << i;
  }
}

/// Between each two neighbours: below the middle goes down, above goes up, the middle to the even
/// one.
TEST(Half, RoundsToNearestEven) {
  for (int i = 0; i < 0x7C00; ++i) {
    const auto low = static_cast<std::uint16_t>(i);
    const auto high = static_cast<std::uint16_t>(i + 1);
    // The step from the largest value to "the next" is what decides about Inf.
    const double next = high == 0x7C00 ? 65536.0 : value16(high, 10, 15);
    const auto middle = static_cast<float>((value16(low, 10, 15) + next) / 2);
    const std::uint16_t even = (i & 1) == 0 ? low : high;
    ASSERT_EQ(float_to_half(middle), even) << i;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0f)), low) << i;
    ASSERT_EQ(float_to_half(std::nextafter(middle, kInfinity)), high) << i;
    ASSERT_EQ(float_to_half(-middle), even | 0x8000) << i;
  }
}

TEST(Half, EdgesOfTheRange) {
  EXPECT_EQ(float_to_half(kInfinity), 0x7C00);
  EXPECT_EQ(float_to_half(-kInfinity), 0xFC00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::max()), 0x7C00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(float_to_half(-0.0f), 0x8000);
  EXPECT_TRUE(is_nan16(float_to_half(std::bit_cast<float>(0x7F800001u)), 10));
  EXPECT_EQ(float_to_half(std::bit_cast<float>(0x7F800001u)), 0x7E00) << "a quiet NaN, not Inf";
}

TEST(Bfloat16, EveryValueIsExactAndSurvivesTheRoundTrip) {
  for (int i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float got = bfloat16_to_float(bits);
    if (is_nan16(bits, 7)) {
      ASSERT_TRUE(std::isnan(got)) << i;
      ASSERT_EQ(float_to_bfloat16(got), bits | 0x0040) << i;
    } else {
      if ((i & 0x7FFF) != 0x7F80) {
        ASSERT_EQ(static_cast<double>(got), value16(bits, 7, 127)) << i;
      }
      ASSERT_EQ(float_to_bfloat16(got), bits) << i;
    }
  }
}

TEST(Bfloat16, RoundsToNearestEvenAndKeepsDenormals) {
  for (int i = 0; i < 0x7F80; ++i) {
    const auto low = static_cast<std::uint16_t>(i);
    const auto high = static_cast<std::uint16_t>(i + 1);
    const double next = high == 0x7F80 ? std::ldexp(1.0, 128) : value16(high, 7, 127);
    const auto middle = static_cast<float>((value16(low, 7, 127) + next) / 2);
    const std::uint16_t even = (i & 1) == 0 ? low : high;
    ASSERT_EQ(float_to_bfloat16(middle), even) << i;
    ASSERT_EQ(float_to_bfloat16(std::nextafter(middle, 0.0f)), low) << i;
    ASSERT_EQ(float_to_bfloat16(std::nextafter(middle, kInfinity)), high) << i;
    ASSERT_EQ(float_to_bfloat16(-middle), even | 0x8000) << i;
  }
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0x7F800001u)), 0x7FC0);
  EXPECT_EQ(float_to_bfloat16(std::bit_cast<float>(0xFFFFFFFFu)), 0xFFFF);
}

}  // namespace
}  // namespace ingot
