// Histogram: values at, between and beyond bounds.
#include "runtime/observe/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ingot {
namespace {

using Counts = std::vector<std::uint64_t>;

Counts counts(const Histogram& h) { return {h.counts().begin(), h.counts().end()}; }

constexpr double kBounds[] = {1, 2.5, 10};

TEST(Histogram, ABoundBelongsToTheBucketThatEndsThere) {
  Histogram h(kBounds);
  EXPECT_EQ(counts(h), (Counts{0, 0, 0, 0}));
  for (const double x : {-3.0, 0.0, 1.0, 1.0001, 2.5, 2.6, 9.0, 10.0, 10.5, 1e300}) h.add(x);
  EXPECT_EQ(counts(h), (Counts{3, 2, 3, 2}));
  EXPECT_EQ(h.count(), 10u);
}

TEST(Histogram, TheSumIsThatOfTheValues) {
  Histogram h(kBounds);
  for (const double x : {0.25, 4.0, 100.0}) h.add(x);
  EXPECT_EQ(h.sum(), 104.25);
  const Histogram copy = h;
  h.add(1);
  EXPECT_EQ(copy.sum(), 104.25);
  EXPECT_EQ(counts(copy), (Counts{1, 0, 1, 1}));
}

TEST(Histogram, WhatIsNoNumberLeavesTheSum) {
  Histogram h(kBounds);
  h.add(std::numeric_limits<double>::quiet_NaN());
  h.add(2);
  EXPECT_EQ(counts(h), (Counts{0, 1, 0, 1}));
  EXPECT_EQ(h.sum(), 2);
}

TEST(Histogram, WithoutBoundsThereIsOneBucket) {
  Histogram h({});
  h.add(7);
  EXPECT_EQ(counts(h), Counts{1});
}

TEST(HistogramDeathTest, BoundsRiseAndAreFew) {
  static constexpr double kFalling[] = {2, 1};
  static constexpr double kMany[Histogram::kBoundsMax + 1] = {};
  EXPECT_DEATH(Histogram{kFalling}, "rise");
  EXPECT_DEATH(Histogram{kMany}, "25 bounds");
}

}  // namespace
}  // namespace ingot
