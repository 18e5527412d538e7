// Sampling: ties, masks, lost rows, repeatability, and frequencies that fit the softmax.
#include "runtime/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace ingot {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Sampler, GreedyTakesTheLowerIdOfATie) {
  const std::array<float, 4> row{1, 3, 3, 2};
  EXPECT_EQ(sample(row, 4, {}, 0), 1);
}

TEST(Sampler, IdsPastTheTokenizerAreNeverDrawn) {
  const std::array<float, 4> row{1, 2, 9, 9};
  EXPECT_EQ(sample(row, 2, {}, 0), 1);
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_LT(*sample(row, 2, {.temperature = 2}, i), 2);
}

TEST(Sampler, ALostRowGivesNothing) {
  const std::array<float, 3> nan{1, std::nanf(""), 2};
  const std::array<float, 3> nan_in_padding{1, 2, std::nanf("")};
  const std::array<float, 2> none{-kInf, -kInf};
  const std::array<float, 2> infinite{1, kInf};
  EXPECT_EQ(sample(nan, 3, {}, 0), std::nullopt);
  EXPECT_EQ(sample(nan_in_padding, 2, {}, 0), std::nullopt);
  EXPECT_EQ(sample(none, 2, {.temperature = 1}, 0), std::nullopt);
  EXPECT_EQ(sample(infinite, 2, {}, 0), std::nullopt);
}

TEST(Sampler, DependsOnSeedChoiceAndPositionAndNothingElse) {
  std::array<float, 64> row{};
  const auto draw = [&](std::uint64_t seed, std::uint32_t choice) {
    std::string all;
    for (std::uint64_t i = 0; i < 32; ++i) {
      all += static_cast<char>(
          '0' + *sample(row, 64, {.temperature = 1, .seed = seed, .choice = choice}, i));
    }
    return all;
  };
  EXPECT_EQ(draw(1, 0), draw(1, 0));
  EXPECT_NE(draw(1, 0), draw(2, 0));
  EXPECT_NE(draw(1, 0), draw(1, 1));
  EXPECT_NE(draw(1, 0), draw(1ull << 32 | 1, 0));
}

TEST(Sampler, FrequenciesFitTheSoftmaxAtATemperature) {
  const std::array<float, 3> row{0.0f, 1.0f, 2.0f};
  constexpr double kTemperature = 0.5;
  constexpr int kDraws = 20000;
  std::array<int, 3> count{};
  for (int i = 0; i < kDraws; ++i) {
    const auto id =
        sample(row, 3, {.temperature = kTemperature, .seed = 42}, static_cast<std::uint64_t>(i));
    ++count[static_cast<std::size_t>(*id)];
  }
  double total = 0;
  for (const float x : row) total += std::exp(x / kTemperature);
  double chi_square = 0;
  for (std::size_t id = 0; id < 3; ++id) {
    const double expected = kDraws * std::exp(row[id] / kTemperature) / total;
    chi_square += (count[id] - expected) * (count[id] - expected) / expected;
  }
  EXPECT_LT(chi_square, 27.6);  // 2 degrees of freedom at a probability of 1e-6
}

}  // namespace
}  // namespace ingot
