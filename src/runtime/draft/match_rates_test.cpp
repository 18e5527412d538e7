// MatchRates: each class of lengths has its own rate, and follows what happens.
#include "runtime/draft/match_rates.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(MatchRates, LongerMatchesAreLikelierAtFirst) {
  const MatchRates rates;
  double before = 0;
  for (const int length : {2, 3, 4, 5, 7, 9, 13, 17, 33}) {
    EXPECT_GT(rates.rate(length), before);
    before = rates.rate(length);
  }
  EXPECT_EQ(rates.rate(33), rates.rate(1000));
  EXPECT_EQ(rates.rate(5), rates.rate(6));
  EXPECT_LT(before, 1);
}

TEST(MatchRates, FollowWhatHappens) {
  MatchRates rates;
  for (int i = 0; i < 300; ++i) rates.add(3, i % 5 == 0);
  EXPECT_NEAR(rates.rate(3), 0.2, 0.05);
  EXPECT_EQ(rates.rate(4), MatchRates().rate(4)) << "another class";
  for (int i = 0; i < 300; ++i) rates.add(3, true);
  EXPECT_GT(rates.rate(3), 0.85);
}

TEST(MatchRates, ASequenceBeginsWithTheGeneralRate) {
  MatchRates general, own;
  for (int i = 0; i < 300; ++i) general.add(2, true);
  EXPECT_EQ(own.rate(2, general), general.rate(2));
  for (int i = 0; i < 100; ++i) own.add(2, false);
  EXPECT_LT(own.rate(2, general), 0.2);
}

}  // namespace
}  // namespace ingot
