// Arrivals and closed loops, without a clock.
#include "bench/client/load_schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

TEST(LoadSchedule, FollowsArrivals) {
  const std::vector<double> arrivals{0, 0, 1.5};
  LoadSchedule schedule(arrivals, 0);
  EXPECT_EQ(schedule.take_due(0), 0U);
  EXPECT_EQ(schedule.take_due(0), 1U);
  EXPECT_FALSE(schedule.take_due(1.49));
  EXPECT_EQ(schedule.next_at(), 1.5);
  EXPECT_EQ(schedule.take_due(2), 2U);
  EXPECT_EQ(schedule.start_of(2, 2), 1.5) << "being late is part of its latency";
  EXPECT_FALSE(schedule.next_at());
  EXPECT_FALSE(schedule.take_due(9));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(schedule.is_over());
    schedule.end_one();
  }
  EXPECT_TRUE(schedule.is_over());
}

TEST(LoadSchedule, KeepsSoManyUnderWay) {
  const std::vector<double> arrivals{0, 5, 9, 10};
  LoadSchedule schedule(arrivals, 2);
  EXPECT_EQ(schedule.take_due(0), 0U);
  EXPECT_EQ(schedule.take_due(0), 1U);
  EXPECT_FALSE(schedule.take_due(100));
  EXPECT_FALSE(schedule.next_at()) << "it waits for an end, not for a time";
  schedule.end_one();
  EXPECT_EQ(schedule.take_due(0.25), 2U);
  EXPECT_EQ(schedule.start_of(2, 0.25), 0.25);
  EXPECT_FALSE(schedule.take_due(0.25));
  EXPECT_EQ(schedule.ended(), 1U);
}

TEST(LoadSchedule, OfNothingIsOver) {
  LoadSchedule schedule({}, 3);
  EXPECT_TRUE(schedule.is_over());
  EXPECT_FALSE(schedule.take_due(0));
}

}  // namespace
}  // namespace ingot
