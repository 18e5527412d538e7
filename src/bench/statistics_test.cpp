// Tests of percentiles and medians, against values counted by hand.
#include "bench/statistics.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Percentile, LiesBetweenTheTwoThatAreNearest) {
  // Place (n - 1) * percent / 100, counted from 0: for four numbers 1.5, 2.7 and 2.97.
  const std::vector<double> four{1, 2, 3, 5};
  EXPECT_DOUBLE_EQ(percentile(four, 50), 2.5);
  EXPECT_DOUBLE_EQ(percentile(four, 90), 3 + 0.7 * 2);
  EXPECT_DOUBLE_EQ(percentile(four, 99), 3 + 0.97 * 2);
  EXPECT_EQ(percentile(four, 0), 1);
  EXPECT_EQ(percentile(four, 100), 5);
}

TEST(Percentile, OfFewIsExact) {
  const std::vector<double> odd{2, 7, 11};
  EXPECT_EQ(percentile(odd, 50), 7);
  EXPECT_EQ(percentile(std::vector<double>{3}, 99), 3);
  EXPECT_EQ(percentile({}, 50), 0);
  std::vector<double> many;
  for (int i = 0; i <= 100; ++i) many.push_back(i);
  for (const double p : {1.0, 50.0, 90.0, 99.0}) EXPECT_DOUBLE_EQ(percentile(many, p), p);
}

TEST(Median, IsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median({11, 2, 7}), 7);
  EXPECT_EQ(median({5, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace ingot
