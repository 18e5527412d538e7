// Draws by noise: ties, bounds, known tokens, frequencies, and what noise does for a filtered row.
#include "runtime/sampling/token_race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/index.h"
#include "base/math_double.h"
#include "base/text.h"
#include "runtime/sampling/row_sampler.h"
#include "runtime/sampling/sampler_test_util.h"

namespace ingot::testing {
namespace {

TEST(TokenRace, EqualKeysGoToTheLowerId) {
  Leader leader;
  leader.challenge(7, 1.5);
  leader.challenge(9, 1.5);
  EXPECT_EQ(leader.id, 7);
  leader.challenge(3, 1.5);
  EXPECT_EQ(leader.id, 3);
  leader.challenge(1, 1.25);
  EXPECT_EQ(leader.id, 3);
  leader.challenge(8, 1.75);
  EXPECT_EQ(leader.id, 8);
}

TEST(TokenRace, TheBoundOfALogarithmIsCloseBelowIt) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const double x = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                                static_cast<int>(random() % 70) - 64);
    ASSERT_LT(log_lower_bound(x), std::log(x)) << x;
    ASSERT_GT(log_lower_bound(x), std::log(x) - 0.07) << x;
  }
  EXPECT_LT(log_lower_bound(1), 0);
  EXPECT_LT(log_lower_bound(0x1p-61), -61 * std::log(2.0));
}

TEST(TokenRace, TheEstimateOfALogarithmIsCloseToIt) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                                static_cast<int>(random() % 70) - 64);
    ASSERT_NEAR(log_estimate(x), std::log(x), 1e-7 * std::min(1.0, std::abs(std::log(x)))) << x;
  }
  EXPECT_EQ(log_estimate(1), 0);
  EXPECT_NEAR(log_estimate(1 - 0x1p-53), -0x1p-53, 1e-7 * 0x1p-53);
}

TEST(TokenRace, TheEstimateOfAKeyIsCloseToIt) {
  std::mt19937_64 random(3);
  const auto number = [&](int i) {
    if (i % 5 == 0) return Exponential{.u = 0x1p-53};
    if (i % 5 == 1) return Exponential{.u = 1 - 0x1p-53};
    return Exponential::of_bits(random());
  };
  for (int i = 0; i < 100'000; ++i) {
    Racer racer{.group = {.scaled_least = number(i)}, .excess = number(i / 5)};
    if (i % 3 == 0) racer.excess.u = 1;
    ASSERT_NEAR(racer.key_estimate(), racer.key(), 3e-7) << i;
    ASSERT_GE(racer.key_bound(), racer.key()) << i;
  }
}

/// The tokens were computed in Python, by the formulas of Sampler and DrawNoise for all ids.
TEST(TokenRace, KnownTokens) {
  TestRow row{.logits = {}, .params = {.temperature = 1, .seed = 0x123456789abcdef0, .choice = 5}};
  for (int i = 0; i < 700; ++i) row.logits.push_back(static_cast<float>(i * 37 % 101) / 16);
  const auto draws = [&](std::uint64_t first) {
    std::vector<std::int32_t> ids;
    for (std::uint64_t i = 0; i < 24; ++i) {
      row.index = first + i;
      ids.push_back(draw(row).id);
    }
    return ids;
  };
  EXPECT_EQ(
      draws(std::uint64_t{1} << 32),
      (std::vector<std::int32_t>{395, 461, 27,  218, 614, 482, 299, 240, 524, 67,  679, 130,
                                 671, 655, 232, 398, 210, 662, 147, 311, 335, 502, 543, 412}));
  row.params = {.temperature = 0.5f, .seed = 7};
  EXPECT_EQ(draws(0), (std::vector<std::int32_t>{352, 120, 292, 226, 125, 185, 491, 155,
                                                 655, 543, 488, 524, 666, 554, 666, 240,
                                                 393, 491, 60,  581, 655, 494, 393, 161}));
}

/// Draws of one row with rising indexes.
class Draws {
 public:
  explicit Draws(TestRow& row) : row_(row), sampler_(*host_kernels().back(), vocab(), vocab()) {}

  std::int32_t at_index(std::uint64_t index) {
    row_.index = index;
    Drawn drawn;
    sampler_.draw(row_.row(), drawn);
    return drawn.id;
  }
  std::int64_t vocab() const { return row_.vocab(); }

 private:
  TestRow& row_;
  RowSampler sampler_;
};

/// A token's key by the formulas of Sampler and DrawNoise. The largest logit is 0.
double key_of(const TestRow& row, std::int32_t id) {
  const DrawNoise noise(row.params, row.index);
  const NoiseGroup group = noise.group(id / kNoiseGroup);
  const double excess = id == group.first ? 0 : noise.excess(id).value();
  const float scale = 1 / row.params.temperature;
  const double distance = static_cast<double>(at(row.logits, id)) * static_cast<double>(scale);
  return distance - math::log(group.least() + excess);
}

/// Rows in place, long lists, long lists without the likeliest token, and short lists.
TEST(TokenRace, TheTokenWithTheLargestKeyOfAllIsDrawn) {
  TestRow row{.logits = normal_logits(5000, 2, 9)};
  row.logits[4321] = 9;
  for (float& logit : row.logits) logit -= 9;
  std::set<std::pair<bool, bool>> paths;  // whether the list is short, and has the likeliest token
  for (const SamplingParams& params :
       std::vector<SamplingParams>{{.temperature = 0.5f},
                                   {.temperature = 40},
                                   {.temperature = 3, .top_p = 0.9f},
                                   {.temperature = 9, .typical_p = 0.6f},
                                   {.temperature = 1, .top_k = 15},
                                   {.temperature = 2, .min_p = 0.01f}}) {
    row.params = params;
    const auto kept = distribution(row);
    const bool has_likeliest = std::any_of(kept.begin(), kept.end(),
                                           [](const TokenProbability& t) { return t.id == 4321; });
    paths.insert({std::ssize(kept) < spans_of(5000), has_likeliest});
    for (row.index = 0; row.index < 100; ++row.index) {
      Leader leader;
      for (const auto& [id, p] : kept) leader.challenge(id, key_of(row, id));
      ASSERT_EQ(draw(row).id, leader.id) << kept.size() << " tokens, index " << row.index;
    }
  }
  const decltype(paths) all{{true, true}, {false, true}, {false, false}};
  EXPECT_EQ(paths, all);
}

/// Estimates cannot tell these keys apart.
TEST(TokenRace, KeysThatDifferInTheirLastBitsAreCompared) {
  TestRow row{.logits = {0, 0}, .params = {.temperature = 1}};
  int low = 0;
  int all = 0;
  for (row.index = 0; row.index < 1000; ++row.index) {
    row.logits[1] = 0;
    const double lead = key_of(row, 1) - key_of(row, 0);
    if (lead < 0) continue;
    auto logit = static_cast<float>(-lead);
    for (int step = 0; step < 2; ++step) logit = std::nextafter(logit, -kInf);
    for (int step = 0; step < 5; ++step, logit = std::nextafter(logit, 0.0f)) {
      row.logits[1] = logit;
      const std::int32_t expected = key_of(row, 1) > key_of(row, 0) ? 1 : 0;
      ASSERT_EQ(draw(row).id, expected) << logit;
      low += 1 - expected;
      ++all;
    }
  }
  EXPECT_NEAR(low, all / 2, all / 4);
}

TEST(TokenRace, FrequenciesAreThoseOfTheDistribution) {
  constexpr int kDraws = 30'000;
  // The logits fall from the middle, so that several groups of noise have likely tokens.
  TestRow row{.logits = normal_logits(1500, 0.5f, 4), .params = {.temperature = 0.7f, .seed = 11}};
  for (std::int64_t i = 0; i < row.vocab(); ++i) {
    at(row.logits, i) -= static_cast<float>(std::abs(i - 700)) * 0.01f;
  }
  for (const SamplingParams& params : std::vector<SamplingParams>{{.temperature = 0.7f},
                                                                  {.temperature = 2, .top_p = 0.8f},
                                                                  {.temperature = 1, .top_k = 30},
                                                                  {.temperature = 1e6f}}) {
    row.params = params;
    row.params.seed = 12;
    Draws draws(row);
    std::map<std::int32_t, int> count;
    for (std::uint64_t i = 0; i < kDraws; ++i) ++count[draws.at_index(i)];
    double chi_square = 0;
    std::size_t groups = 0;
    double rest_expected = 0;
    int rest = kDraws;
    for (const auto& [id, p] : distribution(row)) {
      const double expected = p * kDraws;
      if (expected < 10) {
        rest_expected += expected;
        continue;
      }
      rest -= count[id];
      chi_square += (count[id] - expected) * (count[id] - expected) / expected;
      ++groups;
    }
    if (rest_expected > 10) {
      chi_square += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
      ++groups;
    }
    EXPECT_LT(chi_square, chi_square_limit(groups - 1)) << groups << " groups";
  }
}

/// A draw of both seeds is equal as often as two independent draws: with the probability sum(p^2).
TEST(TokenRace, DrawsOfOtherSeedsChoicesAndIndexesAreIndependent) {
  constexpr std::uint64_t kDraws = 20'000;
  TestRow row{.logits = normal_logits(600, 3, 8), .params = {.temperature = 1}};
  double equal = 0;
  for (const auto& [id, p] : distribution(row)) equal += p * p;
  const double expected = equal * kDraws;
  const double limit = 5 * std::sqrt(expected * (1 - equal));
  TestRow other = row;
  Draws first(row);
  Draws second(other);
  const auto matches = [&](std::uint64_t shift) {
    int count = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      count += first.at_index(2 * i) == second.at_index(2 * i + shift) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(matches(0), static_cast<int>(kDraws)) << "the same noise";
  EXPECT_NEAR(matches(1), expected, limit) << "index";
  other.params.choice = 1;
  EXPECT_NEAR(matches(0), expected, limit) << "choice";
  other.params = row.params;
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{1} << 32}) {
    other.params.seed = seed;
    EXPECT_NEAR(matches(0), expected, limit) << "seed " << seed;
  }
}

/// A token's noise does not depend on the other tokens, so a filter changes only draws whose token
/// it drops.
TEST(TokenRace, AFilterThatKeepsTheDrawnTokenKeepsTheDraw) {
  TestRow row{.logits = normal_logits(3000, 3, 5), .params = {.temperature = 1, .seed = 2}};
  TestRow filtered = row;
  filtered.params.top_k = 100;
  std::map<std::int32_t, double> kept;
  for (const auto& [id, p] : distribution(filtered)) kept[id] = p;
  Draws all(row);
  Draws few(filtered);
  int same = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::int32_t id = all.at_index(i);
    const std::int32_t other = few.at_index(i);
    EXPECT_TRUE(kept.contains(other));
    if (!kept.contains(id)) continue;
    EXPECT_EQ(other, id) << i;
    ++same;
  }
  EXPECT_GT(same, 200);
  EXPECT_LT(same, 1900);
}

TEST(TokenRace, OneTokenThatIsLeftIsDrawn) {
  for (const std::int32_t id : {0, 255, 256, 299}) {
    TestRow row{.logits = std::vector<float>(300, -kInf), .params = {.temperature = 2}};
    at(row.logits, id) = -3;
    for (row.index = 0; row.index < 30; ++row.index) EXPECT_EQ(draw(row).id, id);
  }
}

/// At a tiny temperature any distance is too far for noise. Equal logits remain equally likely.
TEST(TokenRace, ATinyTemperatureLeavesOnlyTheLargest) {
  TestRow row{.logits = normal_logits(600, 1, 6), .params = {.temperature = 1e-45f}};
  row.logits[17] = row.logits[580] = 4;
  row.logits[300] = std::nextafter(4.0f, 0.0f);
  int low = 0;
  for (row.index = 0; row.index < 400; ++row.index) {
    const std::int32_t id = draw(row).id;
    ASSERT_TRUE(id == 17 || id == 580) << id;
    low += id == 17 ? 1 : 0;
  }
  EXPECT_NEAR(low, 200, 60);
}

/// XTC may leave tokens far below the largest logit. A token of weight 0 is not drawn even then.
TEST(TokenRace, ATokenOfWeightZeroIsNotDrawn) {
  TestRow row{.logits = {90, 3.2f, 2.6f, 2.5f}, .params = {.temperature = 1}};
  row.params.xtc_probability = 1;
  row.params.xtc_threshold = 0;
  ASSERT_EQ(distribution(row).size(), 1u);
  for (row.index = 0; row.index < 100; ++row.index) EXPECT_EQ(draw(row).id, 1);
}

}  // namespace
}  // namespace ingot::testing
