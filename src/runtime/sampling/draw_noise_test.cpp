// Noise of draws: known values, extreme words, bounds, and whether the numbers are independent.
#include "runtime/sampling/draw_noise.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "runtime/sampling/sampler_test_util.h"

namespace ingot::testing {
namespace {

double noise_of(std::uint64_t seed, std::uint32_t choice, std::uint64_t index, std::int32_t id) {
  const DrawNoise noise({.seed = seed, .choice = choice}, index);
  const NoiseGroup group = noise.group(id / kNoiseGroup);
  return group.least() + (id == group.first ? 0 : noise.excess(id).value());
}

TEST(DrawNoise, ExtremeBitsGiveFiniteNumbers) {
  EXPECT_EQ(Exponential::of_bits(0).u, 0x1p-53);
  EXPECT_EQ(Exponential::of_bits(~std::uint64_t{0}).u, 1 - 0x1p-53);
  EXPECT_EQ(Exponential::of_bits(~std::uint64_t{0}).value(), 0x1p-53);
  EXPECT_NEAR(Exponential::of_bits(0).value(), 53 * std::log(2.0), 1e-14);
}

TEST(DrawNoise, TheBoundIsBelowTheNumberAndCloseToSmallOnes) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> all{0, ~std::uint64_t{0}, ~std::uint64_t{0} << 12};
  for (int i = 0; i < 10'000; ++i) {
    all.push_back(random());
    all.push_back(~(random() >> random() % 64));
  }
  for (const std::uint64_t bits : all) {
    const auto x = Exponential::of_bits(bits);
    ASSERT_GT(x.lower_bound(), 0) << bits;
    ASSERT_LE(x.lower_bound(), x.value() * (1 + 1e-15)) << bits;
    if (x.value() < 0.1) {
      ASSERT_GT(x.lower_bound(), x.value() * 0.996) << bits;
    }
  }
}

/// The numbers were computed in Python, from the comment of DrawNoise.
TEST(DrawNoise, KnownNumbers) {
  const std::vector<std::pair<std::int32_t, double>> known{{0, 0.9064376624226779},
                                                           {1, 0.7312522946749135},
                                                           {255, 1.1717055180206695},
                                                           {256, 5.702177362819811},
                                                           {699, 0.08097511960260254}};
  for (const auto& [id, x] : known) {
    EXPECT_NEAR(noise_of(0x123456789abcdef0, 5, std::uint64_t{1} << 32, id), x, 1e-14) << id;
  }
}

TEST(DrawNoise, NumbersMadeTogetherAreThoseMadeAlone) {
  const DrawNoise noise({.seed = 7, .choice = 2}, 3);
  std::vector<NoiseGroup> groups(9);
  noise.groups(groups);
  for (std::int64_t g = 0; g < std::ssize(groups); ++g) {
    EXPECT_EQ(at(groups, g).first, noise.group(g).first);
    EXPECT_EQ(at(groups, g).scaled_least.u, noise.group(g).scaled_least.u);
  }
  const std::vector<std::int32_t> ids{0, 5, 255, 256, 70'000};
  std::vector<Exponential> excesses(ids.size());
  noise.excesses(ids, excesses);
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(excesses[i].u, noise.excess(ids[i]).u);
}

TEST(DrawNoise, TheSmallestOfAGroupIsEquallyLikelyEverywhere) {
  constexpr int kGroups = 100'000;
  std::vector<int> count(kNoiseGroup);
  const DrawNoise noise({.seed = 3}, 0);
  for (std::int64_t g = 0; g < kGroups; ++g) ++at(count, noise.group(g).first - kNoiseGroup * g);
  double chi_square = 0;
  for (const int n : count) {
    const double expected = double{kGroups} / kNoiseGroup;
    chi_square += (n - expected) * (n - expected) / expected;
  }
  EXPECT_LT(chi_square, chi_square_limit(kNoiseGroup - 1));
}

/// Two places in the space of noises.
struct Places {
  const char* name;
  double (*first)(std::uint64_t i);
  double (*second)(std::uint64_t i);
};

/// exp(-x) is uniform, so each cell of a square is equally likely if the numbers are independent.
TEST(DrawNoise, NumbersAreExponentialAndIndependent) {
  constexpr std::uint64_t kPairs = 100'000;
  constexpr std::size_t kCells = 16;
  const std::vector<Places> all{
      {"ids of a group", [](auto i) { return noise_of(1, 0, i, 7); },
       [](auto i) { return noise_of(1, 0, i, 8); }},
      {"ids of two groups", [](auto i) { return noise_of(2, 0, i, 255); },
       [](auto i) { return noise_of(2, 0, i, 256); }},
      {"all ids of a row", [](auto i) { return noise_of(3, 0, 0, static_cast<std::int32_t>(i)); },
       [](auto i) { return noise_of(3, 0, 0, static_cast<std::int32_t>(i + 1)); }},
      {"indexes", [](auto i) { return noise_of(4, 0, 2 * i, 5); },
       [](auto i) { return noise_of(4, 0, 2 * i + 1, 5); }},
      {"halves of the index", [](auto i) { return noise_of(5, 0, i, 5); },
       [](auto i) { return noise_of(5, 0, i << 32, 5); }},
      {"choices", [](auto i) { return noise_of(6, 0, i, 5); },
       [](auto i) { return noise_of(6, 1, i, 5); }},
      {"seeds", [](auto i) { return noise_of(i, 0, 0, 5); },
       [](auto i) { return noise_of(i + 1, 0, 0, 5); }},
      {"halves of the seed", [](auto i) { return noise_of(i, 0, 0, 5); },
       [](auto i) { return noise_of(i << 32, 0, 0, 5); }},
  };
  for (const Places& places : all) {
    std::array<int, kCells * kCells> count{};
    for (std::uint64_t i = 1; i <= kPairs; ++i) {
      const auto row = static_cast<std::size_t>(std::exp(-places.first(i)) * kCells);
      const auto column = static_cast<std::size_t>(std::exp(-places.second(i)) * kCells);
      ++count[row * kCells + column];
    }
    double chi_square = 0;
    for (const int n : count) {
      const double expected = double{kPairs} / (kCells * kCells);
      chi_square += (n - expected) * (n - expected) / expected;
    }
    EXPECT_LT(chi_square, chi_square_limit(kCells * kCells - 1)) << places.name;
  }
}

}  // namespace
}  // namespace ingot::testing
