// QueuePace: seconds between admissions, measured while requests wait.
#include "runtime/schedule/queue_pace.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(QueuePace, IsTheTimeFromOneAdmissionToTheNext) {
  QueuePace pace;
  double now = 5;
  pace.add(4, 100, now);
  for (int i = 0; i < 20; ++i) pace.add(1, 100, now += 0.25);
  EXPECT_DOUBLE_EQ(pace.seconds_each(now), 0.25) << "the queue was empty when the first four came";
  for (int i = 0; i < 20; ++i) {
    for (int idle = 0; idle < 3; ++idle) pace.add(0, 100, now += 0.25);
    pace.add(4, 100, now += 0.25);
  }
  EXPECT_DOUBLE_EQ(pace.seconds_each(now), 0.25) << "four at once, each four times as seldom";
}

TEST(QueuePace, FollowsWhatChanges) {
  QueuePace pace;
  double now = 0;
  pace.add(0, 1, now);
  for (int i = 0; i < 200; ++i) pace.add(1, 1, now += 0.1);
  for (int i = 0; i < 400; ++i) pace.add(1, 1, now += 2.0);
  EXPECT_NEAR(pace.seconds_each(now), 2.0, 0.01);
}

TEST(QueuePace, FollowsAStandstillBeforeItEnds) {
  QueuePace pace;
  double now = 0;
  pace.add(0, 1, now);
  for (int i = 0; i < 400; ++i) pace.add(1, 1, now += 0.01);
  EXPECT_NEAR(pace.seconds_each(now), 0.01, 1e-9);
  EXPECT_NEAR(pace.seconds_each(now + 0.3), 0.014, 0.001) << "as between two that come in pairs";
  EXPECT_NEAR(pace.seconds_each(now + 650), 10, 0.2);
}

TEST(QueuePace, SaysNothingBeforeSomeHadToWait) {
  QueuePace pace;
  double now = 0;
  for (int i = 0; i < 100; ++i) pace.add(1, 0, now += 60);
  EXPECT_EQ(pace.seconds_each(now), 0);
  pace.add(0, 3, now);
  for (int i = 0; i < 7; ++i) pace.add(1, 3, now += 1);
  EXPECT_EQ(pace.seconds_each(now), 0) << "seven are too few";
}

TEST(QueuePace, TimeWithoutAQueueDoesNotCount) {
  QueuePace pace;
  double now = 0;
  pace.add(0, 1, now);
  for (int i = 0; i < 64; ++i) pace.add(1, i + 1 < 64 ? 1 : 0, now += 1);
  pace.add(1, 1, now += 1000);
  for (int i = 0; i < 8; ++i) pace.add(1, 1, now += 1);
  EXPECT_NEAR(pace.seconds_each(now), 1, 1e-9);
}

}  // namespace
}  // namespace ingot
