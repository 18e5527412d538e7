// Tests of rotary frequencies against the published formulas in long double.
#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "base/index.h"

namespace ingot {
namespace {

RopeConfig config(std::int64_t dims, double theta) {
  RopeConfig c;
  c.dims = dims;
  c.theta = theta;
  return c;
}

TEST(Rope, PlainFrequenciesAreThePowersOfTheta) {
  const RopeSpec r = rope_spec(config(64, 500000));
  ASSERT_EQ(r.inverse_frequency.size(), 32u);
  for (std::size_t i = 0; i < 32; ++i) {
    const long double want = std::pow(500000.0L, -2.0L * static_cast<long double>(i) / 64);
    EXPECT_NEAR(r.inverse_frequency[i] / static_cast<double>(want), 1, 1e-14) << i;
  }
  EXPECT_EQ(r.factor, 1);
}

TEST(Rope, LinearScalingDividesEveryFrequency) {
  RopeConfig c = config(16, 10000);
  const RopeSpec plain = rope_spec(c);
  c.scaling.kind = RopeScaling::Kind::kLinear;
  c.scaling.factor = 4;
  const RopeSpec scaled = rope_spec(c);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(scaled.inverse_frequency[i], plain.inverse_frequency[i] / 4);
  }
}

TEST(Rope, Llama3KeepsHighFrequenciesAndDividesLowOnes) {
  RopeConfig c = config(128, 500000);
  const RopeSpec plain = rope_spec(c);
  c.scaling.kind = RopeScaling::Kind::kLlama3;
  c.scaling.factor = 8;
  c.scaling.original_context = 8192;
  const RopeSpec scaled = rope_spec(c);
  bool kept = false, divided = false, blended = false;
  for (std::size_t i = 0; i < 64; ++i) {
    const double ratio = plain.inverse_frequency[i] / scaled.inverse_frequency[i];
    const double wavelength = 2 * M_PI / plain.inverse_frequency[i];
    if (wavelength < 8192.0 / 4) {
      EXPECT_EQ(ratio, 1) << i;
      kept = true;
    } else if (wavelength > 8192.0) {
      EXPECT_NEAR(ratio, 8, 1e-12) << i;
      divided = true;
    } else {
      const double smooth = (8192 / wavelength - 1) / (4 - 1);
      EXPECT_NEAR(1 / ratio, (1 - smooth) / 8 + smooth, 1e-12) << i;
      blended = true;
    }
  }
  EXPECT_TRUE(kept && divided && blended);
}

TEST(Rope, YarnRampsBetweenItsTwoDimensionsAndScalesTheTable) {
  RopeConfig c = config(128, 10000);
  const RopeSpec plain = rope_spec(c);
  c.scaling.kind = RopeScaling::Kind::kYarn;
  c.scaling.factor = 16;
  c.scaling.original_context = 4096;
  const auto dimension = [](double rotations) {
    return 128 * std::log(4096 / (rotations * 2 * M_PI)) / (2 * std::log(10000.0));
  };
  const double low = std::floor(dimension(32));
  const double high = std::ceil(dimension(1));
  const RopeSpec scaled = rope_spec(c);
  for (std::size_t i = 0; i < 64; ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double want = plain.inverse_frequency[i] * (ramp / 16 + (1 - ramp));
    EXPECT_NEAR(scaled.inverse_frequency[i] / want, 1, 1e-12) << i;
  }
  EXPECT_NEAR(scaled.factor, 0.1 * std::log(16.0) + 1, 1e-14);
  c.scaling.attention_factor = 1.25;
  EXPECT_EQ(rope_spec(c).factor, 1.25);
}

TEST(Rope, TheTableHoldsCosinesAndSinesByPosition) {
  ThreadPool pool(1);
  CpuBackend backend(pool, scalar_kernels());
  RopeSpec r = rope_spec(config(8, 10000));
  r.factor = 1.5;
  const RopeTensors t = make_rope_table(backend, r, 5000);
  EXPECT_EQ(t.table.cos.rows, 5000);
  EXPECT_EQ(t.table.cos.cols, 4);
  for (const std::int64_t p : {0, 1, 17, 4999}) {
    for (std::int64_t i = 0; i < 4; ++i) {
      const auto angle =
          static_cast<long double>(static_cast<double>(p) * at(r.inverse_frequency, i));
      EXPECT_EQ(t.table.cos.row<float>(p)[i],
                static_cast<float>(static_cast<double>(std::cos(angle)) * 1.5));
      EXPECT_EQ(t.table.sin.row<float>(p)[i],
                static_cast<float>(static_cast<double>(std::sin(angle)) * 1.5));
    }
  }
}

TEST(Rope, FrequencyFactorsDivide) {
  RopeSpec r = rope_spec(config(4, 10000));
  const double second = r.inverse_frequency[1];
  const std::vector<float> divisors{1, 8};
  divide_frequencies(r, divisors);
  EXPECT_EQ(r.inverse_frequency[0], 1);
  EXPECT_EQ(r.inverse_frequency[1], second / 8);
}

}  // namespace
}  // namespace ingot
