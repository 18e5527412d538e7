// Tests of the float functions: accuracy against long double, edges, and the same bits from every
// compiler.
#include "base/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace ingot {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Function = float (*)(float);
using Exact = long double (*)(long double);

// Through functions, since the inlined ones have no address.
float exp_f(float x) { return math::exp(x); }
float log_f(float x) { return math::log(x); }
float tanh_f(float x) { return math::tanh(x); }
float erf_f(float x) { return math::erf(x); }
float sigmoid_f(float x) { return math::sigmoid(x); }
float sin_f(float x) { return math::sin(x); }
float cos_f(float x) { return math::cos(x); }
long double exact_sigmoid(long double x) { return 1.0L / (1.0L + std::exp(-x)); }

/// |got - exact| in units of the last place of a float of the size of `exact`.
double ulps(float got, long double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const int last_place = std::max(exponent - 24, -149);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) *
                             std::ldexp(1.0L, -last_place));
}

/// The largest error over every `step`-th float of [low, high], both of one sign.
double worst(Function f, Exact exact, float low, float high, std::uint32_t step) {
  double result = 0;
  std::uint32_t first = std::bit_cast<std::uint32_t>(low);
  std::uint32_t last = std::bit_cast<std::uint32_t>(high);
  if (first > last) std::swap(first, last);
  for (std::uint32_t bits = first; bits <= last; bits += step) {
    const auto x = std::bit_cast<float>(bits);
    result = std::max(result, ulps(f(x), exact(x)));
  }
  return result;
}

// Prime, so that all low bits occur.
constexpr std::uint32_t kStep = 7919;

TEST(Math, Exp) {
  EXPECT_LE(worst(exp_f, std::exp, 0x1p-30f, 88.72f, kStep), 1.0);
  EXPECT_LE(worst(exp_f, std::exp, -0x1p-30f, -87.3f, kStep), 1.0);
  EXPECT_EQ(math::exp(0.0f), 1.0f);
  EXPECT_EQ(math::exp(-0.0f), 1.0f);
  EXPECT_EQ(math::exp(1e-40f), 1.0f);
  EXPECT_EQ(math::exp(kInf), kInf);
  EXPECT_EQ(math::exp(88.73f), kInf);
  EXPECT_EQ(math::exp(1e30f), kInf);
  EXPECT_TRUE(std::isnan(math::exp(kNan)));
  EXPECT_GT(math::exp(-87.3f), 0x1p-126f);
  for (const float x : {std::nextafter(-87.3f, -kInf), -88.0f, -1e30f, -kInf}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(math::exp(x)), 0u) << x;
  }
}

TEST(Math, ExpOfWhatIsNotPositive) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (std::uint32_t i = 0; i <= 0x7F800000u; i += kStep) {
    const float x = std::bit_cast<float>(i | 0x80000000u);
    ASSERT_EQ(bits(math::exp_not_positive_lanes<OneLane>(x)), bits(math::exp(x))) << x;
  }
  for (const float x : {0.0f, -87.3f, std::nextafter(-87.3f, -kInf), -kInf}) {
    EXPECT_EQ(bits(math::exp_not_positive_lanes<OneLane>(x)), bits(math::exp(x))) << x;
  }
  EXPECT_TRUE(std::isnan(math::exp_not_positive_lanes<OneLane>(kNan)));
}

TEST(Math, Log) {
  EXPECT_LE(worst(log_f, std::log, 0x1p-149f, std::numeric_limits<float>::max(), kStep), 1.5);
  EXPECT_LE(worst(log_f, std::log, 0.5f, 2.0f, 101), 1.5);
  EXPECT_EQ(math::log(1.0f), 0.0f);
  EXPECT_EQ(math::log(0.0f), -kInf);
  EXPECT_EQ(math::log(-0.0f), -kInf);
  EXPECT_EQ(math::log(kInf), kInf);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_TRUE(std::isnan(math::log(-kInf)));
  EXPECT_TRUE(std::isnan(math::log(kNan)));
}

TEST(Math, Tanh) {
  EXPECT_LE(worst(tanh_f, std::tanh, 0x1p-149f, 20.0f, kStep), 3.0);
  EXPECT_LE(worst(tanh_f, std::tanh, 0.5f, 1.0f, 101), 3.0);
  EXPECT_EQ(math::tanh(kInf), 1.0f);
  EXPECT_EQ(math::tanh(-kInf), -1.0f);
  EXPECT_EQ(math::tanh(-0.5f), -math::tanh(0.5f));
  EXPECT_TRUE(std::isnan(math::tanh(kNan)));
  EXPECT_TRUE(std::signbit(math::tanh(-0.0f)));
}

TEST(Math, Erf) {
  EXPECT_LE(worst(erf_f, std::erf, 0x1p-100f, 6.0f, kStep), 3.0);
  EXPECT_LE(worst(erf_f, std::erf, 0.9f, 1.1f, 101), 3.0);
  EXPECT_EQ(math::erf(4.0f), 1.0f);
  EXPECT_EQ(math::erf(kInf), 1.0f);
  EXPECT_EQ(math::erf(-1e30f), -1.0f);
  EXPECT_EQ(math::erf(-0.75f), -math::erf(0.75f));
  EXPECT_TRUE(std::isnan(math::erf(kNan)));
  EXPECT_TRUE(std::signbit(math::erf(-0.0f)));
}

TEST(Math, Sigmoid) {
  EXPECT_LE(worst(sigmoid_f, exact_sigmoid, 0x1p-30f, 100.0f, kStep), 3.0);
  EXPECT_LE(worst(sigmoid_f, exact_sigmoid, -0x1p-30f, -88.7f, kStep), 3.0);
  EXPECT_EQ(math::sigmoid(0.0f), 0.5f);
  EXPECT_EQ(math::sigmoid(kInf), 1.0f);
  EXPECT_EQ(math::sigmoid(-kInf), 0.0f);
  EXPECT_EQ(math::sigmoid(-100.0f), 0.0f);
  EXPECT_TRUE(std::isnan(math::sigmoid(kNan)));
}

TEST(Math, SinAndCos) {
  EXPECT_LE(worst(sin_f, std::sin, 0x1p-126f, 0x1p20f, kStep), 3.0);
  EXPECT_LE(worst(cos_f, std::cos, 0x1p-126f, 0x1p20f, kStep), 3.0);
  EXPECT_LE(worst(sin_f, std::sin, 1.0f, 0x1p20f, 997), 3.0);
  EXPECT_LE(worst(cos_f, std::cos, -1.0f, -0x1p20f, 997), 3.0);
  // The floats next to multiples of pi/2, where nearly everything cancels.
  for (int k = 1; k <= 600000; k += 7) {
    const auto x = static_cast<float>(k * 1.57079632679489661923L);
    ASSERT_LE(ulps(math::sin(x), std::sin(static_cast<long double>(x))), 3.0) << x;
    ASSERT_LE(ulps(math::cos(x), std::cos(static_cast<long double>(x))), 3.0) << x;
  }
  EXPECT_EQ(math::sin(0.0f), 0.0f);
  EXPECT_TRUE(std::signbit(math::sin(-0.0f)));
  EXPECT_EQ(math::cos(-0.0f), 1.0f);
  EXPECT_FALSE(std::isnan(math::sin(-0x1p20f)));
  for (const float x : {1.5e6f, -1e30f, kInf, -kInf, kNan}) {
    EXPECT_TRUE(std::isnan(math::sin(x))) << x;
    EXPECT_TRUE(std::isnan(math::cos(x))) << x;
  }
}

/// Lanes whose vectors have no operators: only what the lanes concept names can be used on them.
struct BoxedLane {
  struct F {
    float v;
  };
  struct I {
    std::int32_t v;
  };
  struct M {
    bool v;
  };
  using One = OneLane;

  static F splat(float v) { return {v}; }
  static I splat_int(std::int32_t v) { return {v}; }
  static F add(F a, F b) { return {One::add(a.v, b.v)}; }
  static F sub(F a, F b) { return {One::sub(a.v, b.v)}; }
  static F mul(F a, F b) { return {One::mul(a.v, b.v)}; }
  static F div(F a, F b) { return {One::div(a.v, b.v)}; }
  static F fma(F a, F b, F c) { return {One::fma(a.v, b.v, c.v)}; }
  static M lt(F a, F b) { return {One::lt(a.v, b.v)}; }
  static M le(F a, F b) { return {One::le(a.v, b.v)}; }
  static F select(M m, F yes, F no) { return {One::select(m.v, yes.v, no.v)}; }
  static I bits(F a) { return {One::bits(a.v)}; }
  static F from_bits(I a) { return {One::from_bits(a.v)}; }
  static I add_int(I a, I b) { return {One::add_int(a.v, b.v)}; }
  static I sub_int(I a, I b) { return {One::sub_int(a.v, b.v)}; }
  static I and_int(I a, I b) { return {One::and_int(a.v, b.v)}; }
  static I or_int(I a, I b) { return {One::or_int(a.v, b.v)}; }
  template <int n>
  static I shl(I a) {
    return {One::shl<n>(a.v)};
  }
  template <int n>
  static I sar(I a) {
    return {One::sar<n>(a.v)};
  }
  static F to_float(I a) { return {One::to_float(a.v)}; }
};

TEST(Math, NeedsOnlyTheLanesConcept) {
  using L = BoxedLane;
  for (const float x : {-3.0f, -0.25f, 0.0f, 0.5f, 1.75f, 40.0f}) {
    EXPECT_EQ(math::exp_lanes<L>({x}).v, math::exp(x));
    EXPECT_EQ(math::log_lanes<L>({x * x + 0.1f}).v, math::log(x * x + 0.1f));
    EXPECT_EQ(math::tanh_lanes<L>({x}).v, math::tanh(x));
    EXPECT_EQ(math::erf_lanes<L>({x}).v, math::erf(x));
    EXPECT_EQ(math::sigmoid_lanes<L>({x}).v, math::sigmoid(x));
    EXPECT_EQ(math::sin_lanes<L>({x}).v, math::sin(x));
    EXPECT_EQ(math::cos_lanes<L>({x}).v, math::cos(x));
  }
}

/// FNV-1a over the results' bits for every 65,537th float of both signs, denormals, Inf and NaN
/// included.
std::uint64_t digest(Function f) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (std::uint64_t i = 0; i < (std::uint64_t{1} << 32); i += 65537) {
    const float y = f(std::bit_cast<float>(static_cast<std::uint32_t>(i)));
    // Which NaN a machine makes is its own affair.
    const auto bits = y != y ? 0x7FC00000u : std::bit_cast<std::uint32_t>(y);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xFF)) * 0x100000001B3;
    }
  }
  return hash;
}

/// Order version 1. These hold for every compiler, option and machine; new values need a new order
/// version.
TEST(Math, DigestsOfOrderVersion1) {
  EXPECT_EQ(digest(exp_f), 0x2B9D35C034785026u);
  EXPECT_EQ(digest(log_f), 0x3551A6F29CE06ADCu);
  EXPECT_EQ(digest(tanh_f), 0xBAF6F973322C9B66u);
  EXPECT_EQ(digest(erf_f), 0x5895E2DD5008D210u);
  EXPECT_EQ(digest(sigmoid_f), 0xBC0ADB64CF36D790u);
  EXPECT_EQ(digest(sin_f), 0x48D33ED533679E34u);
  EXPECT_EQ(digest(cos_f), 0x1B56918B1F5FB40Du);
}

}  // namespace
}  // namespace ingot
