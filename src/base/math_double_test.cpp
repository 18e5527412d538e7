// Tests of the double functions: accuracy against long double, edges, and the same bits from every
// compiler.
#include "base/math_double.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ingot {
namespace {

constexpr double kDoubleInf = std::numeric_limits<double>::infinity();
constexpr double kDoubleNan = std::numeric_limits<double>::quiet_NaN();

using DoubleFunction = double (*)(double);
using Exact = long double (*)(long double);

/// |got - exact| in units of the last place of a double of the size of `exact`.
double ulps(double got, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int last_place = std::max(exponent - 53, -1074);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) *
                             std::ldexp(1.0L, -last_place));
}

/// The largest error over `samples` points of [low, high], evenly spread with a small irregular
/// offset.
double worst(DoubleFunction f, Exact exact, double low, double high, int samples = 200000) {
  double result = 0;
  std::uint64_t state = 1;
  for (int i = 0; i < samples; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double part = (i + static_cast<double>(state >> 11) * 0x1p-53) / samples;
    const double x = low + (high - low) * part;
    result = std::max(result, ulps(f(x), exact(x)));
  }
  return result;
}

TEST(MathDouble, Exp) {
  EXPECT_LE(worst(math::exp, std::exp, -1.0, 1.0), 1.0);
  EXPECT_LE(worst(math::exp, std::exp, -745.0, 709.7), 1.0);
  EXPECT_EQ(math::exp(0.0), 1.0);
  EXPECT_EQ(math::exp(-0.0), 1.0);
  EXPECT_EQ(math::exp(5e-324), 1.0);
  EXPECT_EQ(math::exp(709.79), kDoubleInf);
  EXPECT_EQ(math::exp(1e300), kDoubleInf);
  EXPECT_EQ(math::exp(kDoubleInf), kDoubleInf);
  EXPECT_EQ(math::exp(-745.2), 0.0);
  EXPECT_EQ(math::exp(-1e300), 0.0);
  EXPECT_EQ(math::exp(-kDoubleInf), 0.0);
  EXPECT_TRUE(std::isnan(math::exp(kDoubleNan)));
}

TEST(MathDouble, Log) {
  EXPECT_LE(worst(math::log, std::log, 0.5, 2.0), 0.6);
  EXPECT_LE(worst(math::log, std::log, 1e-10, 1e-3), 0.6);
  EXPECT_LE(worst(math::log, std::log, 2.0, 1e9), 0.6);
  EXPECT_LE(worst(math::log, std::log, 5e-324, 1e-308), 0.6);
  EXPECT_LE(worst(math::log, std::log, 1.0 - 1e-9, 1.0 + 1e-9), 0.6);
  EXPECT_EQ(math::log(1.0), 0.0);
  EXPECT_EQ(math::log(0.0), -kDoubleInf);
  EXPECT_EQ(math::log(-0.0), -kDoubleInf);
  EXPECT_EQ(math::log(kDoubleInf), kDoubleInf);
  EXPECT_TRUE(std::isnan(math::log(-1.0)));
  EXPECT_TRUE(std::isnan(math::log(kDoubleNan)));
}

TEST(MathDouble, SinAndCos) {
  for (const double range : {0x1p-20, 1.0, 10.0, 1000.0, 0x1p21, 0x1p30}) {
    EXPECT_LE(worst(math::sin, std::sin, -range, range), 1.0) << range;
    EXPECT_LE(worst(math::cos, std::cos, -range, range), 1.0) << range;
  }
  // Next to multiples of pi/2 nearly everything cancels. 80-bit sines are good to about 2^-64 of 1
  // there, no further.
  for (int k = 1; k <= 1'300'000; k += 13) {
    const double x = k * 1.57079632679489661923;
    ASSERT_NEAR(static_cast<double>(math::sin(x) - std::sin(static_cast<long double>(x))), 0.0,
                0x1p-53)
        << x;
    ASSERT_NEAR(static_cast<double>(math::cos(x) - std::cos(static_cast<long double>(x))), 0.0,
                0x1p-53)
        << x;
  }
  EXPECT_EQ(math::sin(0.0), 0.0);
  EXPECT_TRUE(std::signbit(math::sin(-0.0)));
  EXPECT_EQ(math::sin(5e-324), 5e-324);
  EXPECT_EQ(math::cos(0.0), 1.0);
  for (const double x : {0x1.00001p30, -1e300, kDoubleInf, -kDoubleInf, kDoubleNan}) {
    EXPECT_TRUE(std::isnan(math::sin(x))) << x;
    EXPECT_TRUE(std::isnan(math::cos(x))) << x;
  }
}

/// The double nearest to pi is pi - 1.2246467991473531772e-16 (the next digits of pi).
TEST(MathDouble, SineNextToPi) {
  EXPECT_EQ(math::sin(3.141592653589793), 1.2246467991473531772e-16);
  EXPECT_EQ(math::cos(1.5707963267948966), 6.123233995736765886e-17);
}

TEST(MathDouble, Pow) {
  double most = 0;
  std::uint64_t state = 3;
  const auto uniform = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (int i = 0; i < 200000; ++i) {
    const double base = std::ldexp(1.0 + uniform(), static_cast<int>(uniform() * 60) - 30);
    const double exponent = (uniform() - 0.5) * 60.0;
    const auto exact = std::pow(static_cast<long double>(base), static_cast<long double>(exponent));
    if (exact > 1e300L || exact < 1e-300L) continue;
    most = std::max(most, ulps(math::pow(base, exponent), exact));
  }
  EXPECT_LE(most, 1.0);
  // Rotary frequencies.
  for (const double theta : {10000.0, 500000.0, 1e6, 1e7}) {
    for (int i = 0; i < 256; i += 2) {
      const double exponent = -i / 256.0;
      const auto exact =
          std::pow(static_cast<long double>(theta), static_cast<long double>(exponent));
      EXPECT_LE(ulps(math::pow(theta, exponent), exact), 1.0);
    }
  }
}

TEST(MathDouble, PowAtTheEdges) {
  EXPECT_EQ(math::pow(2.0, 10.0), 1024.0);
  EXPECT_EQ(math::pow(2.0, -1074.0), 5e-324);
  EXPECT_EQ(math::pow(10.0, 22.0), 1e22);
  EXPECT_EQ(math::pow(1e300, 2.0), kDoubleInf);
  EXPECT_EQ(math::pow(1e300, -2.0), 0.0);
  EXPECT_EQ(math::pow(5.0, 0.0), 1.0);
  EXPECT_EQ(math::pow(1.0, kDoubleInf), 1.0);
  EXPECT_EQ(math::pow(0.0, 2.0), 0.0);
  EXPECT_EQ(math::pow(0.0, -2.0), kDoubleInf);
  EXPECT_EQ(math::pow(kDoubleInf, 2.0), kDoubleInf);
  EXPECT_EQ(math::pow(kDoubleInf, -2.0), 0.0);
  EXPECT_EQ(math::pow(2.0, kDoubleInf), kDoubleInf);
  EXPECT_EQ(math::pow(2.0, -kDoubleInf), 0.0);
  EXPECT_EQ(math::pow(0.5, kDoubleInf), 0.0);
  EXPECT_TRUE(std::isnan(math::pow(-2.0, 2.0)));
  EXPECT_TRUE(std::isnan(math::pow(kDoubleNan, 2.0)));
  EXPECT_TRUE(std::isnan(math::pow(2.0, kDoubleNan)));
}

/// FNV-1a over the results' bits for doubles of all sizes and both signs.
std::uint64_t digest(DoubleFunction f) {
  std::uint64_t hash = 0xCBF29CE484222325;
  // 2^48 and a bit: 65,536 samples whose low bits differ.
  for (std::uint64_t i = 0; i < 65536; ++i) {
    const double y = f(std::bit_cast<double>(i * 0x0001000100010001));
    const auto bits = y != y ? 0x7FF8000000000000u : std::bit_cast<std::uint64_t>(y);
    for (int shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xFF)) * 0x100000001B3;
    }
  }
  return hash;
}

double power_of_theta(double x) { return math::pow(10000.0, x); }

/// These hold for every compiler, option and machine; new values need a new order version.
TEST(MathDouble, DigestsOfOrderVersion1) {
  EXPECT_EQ(digest(math::exp), 0x8D2B284896118F33u);
  EXPECT_EQ(digest(math::log), 0x955CA3829ECB1886u);
  EXPECT_EQ(digest(math::sin), 0x7579D42BD166B5E2u);
  EXPECT_EQ(digest(math::cos), 0x84EE24A4BC181A98u);
  EXPECT_EQ(digest(power_of_theta), 0x4E6F7BD061B469BCu);
}

}  // namespace
}  // namespace ingot
