// share_alpha: one alpha for scales that are, or are not, powers of 2 apart.
#include "convert/adapter/adapter_scales.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ingot {
namespace {

NewPair pair_with(double scale, std::int64_t rank) {
  NewPair pair;
  pair.scale = scale;
  pair.rank = rank;
  return pair;
}

SharedAlpha shared_of(const std::vector<NewPair>& pairs) { return share_alpha(pairs); }

/// The scale that a reader of GGUF gives to pair `i`, with what B is multiplied by.
double scale_of(const SharedAlpha& shared, const std::vector<NewPair>& pairs, std::size_t i) {
  const double scale = static_cast<double>(shared.alpha) / static_cast<double>(pairs[i].rank);
  return scale * shared.factors[i];
}

TEST(SharedAlpha, RanksMayDiffer) {
  const auto shared = shared_of({pair_with(2, 8), pair_with(4, 4), pair_with(8, 2)});
  EXPECT_EQ(shared.alpha, 16);
  EXPECT_EQ(shared.factors, (std::vector<double>{1, 1, 1}));
  EXPECT_TRUE(shared.exact);
}

TEST(SharedAlpha, PowersOfTwoAreExact) {
  const auto shared = shared_of({pair_with(2, 8), pair_with(2, 8), pair_with(-0.5, 8)});
  EXPECT_EQ(shared.alpha, 16);
  EXPECT_EQ(shared.factors, (std::vector<double>{1, 1, -0.25}));
  EXPECT_TRUE(shared.exact);
}

TEST(SharedAlpha, RoundedScalesOfOneRankAreExact) {
  for (const std::int64_t rank : {2, 8, 32, 128}) {  // rank-stabilised: alpha / sqrt(rank)
    const std::vector<NewPair> pairs{pair_with(16 / std::sqrt(static_cast<double>(rank)), rank)};
    const auto shared = shared_of(pairs);
    EXPECT_TRUE(shared.exact);
    EXPECT_EQ(shared.factors.front(), 1);
    EXPECT_EQ(static_cast<float>(scale_of(shared, pairs, 0)), static_cast<float>(pairs[0].scale));
  }
}

TEST(SharedAlpha, OtherFactorsAreNotExact) {
  const std::vector<NewPair> pairs{pair_with(16 / std::sqrt(8.0), 8), pair_with(16 / 2.0, 4)};
  const auto shared = shared_of(pairs);
  EXPECT_FALSE(shared.exact);
  for (const std::size_t i : {0, 1}) {
    EXPECT_NEAR(scale_of(shared, pairs, i), pairs[i].scale, 1e-6);
  }
}

TEST(SharedAlpha, ZeroIsNoAlpha) {
  EXPECT_EQ(shared_of({pair_with(0, 8)}).alpha, 0);
  const auto shared = shared_of({pair_with(0, 8), pair_with(3, 8)});
  EXPECT_EQ(shared.alpha, 24);
  EXPECT_EQ(shared.factors, (std::vector<double>{0, 1}));
}

TEST(AlphaOf, IsShortWhereAFloatGivesTheScale) {
  EXPECT_EQ(alpha_of(16.0 / 3, 3), 16);
  EXPECT_EQ(alpha_of(0.1 / 7, 7), static_cast<double>(0.1F));
}

}  // namespace
}  // namespace ingot
