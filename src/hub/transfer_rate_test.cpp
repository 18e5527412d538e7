// Tests of speeds and durations, at times that the tests choose.
#include "hub/transfer_rate.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

constexpr std::uint64_t kMega = 1'000'000;

TEST(TransferRate, IsUnknownAtFirst) {
  TransferRate rate;
  EXPECT_EQ(rate.text(100), "");
  rate.add(10.0, 0);
  rate.add(10.5, 50 * kMega);
  EXPECT_EQ(rate.text(100), "");
  rate.add(11.0, 50 * kMega);
  EXPECT_EQ(rate.text(100 * kMega), "50.0 MB/s, 2 s left");
}

TEST(TransferRate, WhatGoesBeforeTheFirstByteDoesNotCount) {
  TransferRate rate;
  for (int i = 0; i <= 100; ++i) rate.add(i, 0);  // lists files, checks the cache
  rate.add(101, 3 * kMega);
  EXPECT_EQ(rate.text(6 * kMega), "3.00 MB/s, 2 s left");
}

TEST(TransferRate, FollowsTheLastSeconds) {
  TransferRate rate;
  std::uint64_t received = 0;
  double now = 100;
  for (int i = 0; i < 100; ++i) rate.add(now += 0.1, received += 10 * kMega);
  EXPECT_NEAR(rate.bytes_per_second(), 100e6, 1e3);
  for (int i = 0; i < 100; ++i) rate.add(now += 0.1, received += kMega / 10);
  EXPECT_NEAR(rate.bytes_per_second(), 1e6, 1e3);
  for (int i = 0; i < 100; ++i) rate.add(now += 0.1, received);
  EXPECT_EQ(rate.text(kMega), "0 B/s");
}

TEST(TransferRate, BytesOfAnEarlierPullAreNoSpeed) {
  TransferRate rate;
  // A continued download: nothing was received yet, although much is there.
  rate.add(0, 0);
  rate.add(2, 4 * kMega);
  EXPECT_EQ(rate.text(8000 * kMega), "2.00 MB/s, 1 h 06 min left");
}

TEST(TransferRate, ManyCallsAreAsGoodAsFew) {
  TransferRate often;
  for (int i = 0; i <= 20'000; ++i) often.add(i * 1e-3, static_cast<std::uint64_t>(i) * 1000);
  EXPECT_NEAR(often.bytes_per_second(), 1e6, 1e4);
}

TEST(TransferRate, Durations) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(0.2), "1 s");
  EXPECT_EQ(duration_text(59), "59 s");
  EXPECT_EQ(duration_text(59.5), "1 min 00 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(3600 + 2 * 60 + 59), "1 h 02 min");
  EXPECT_EQ(duration_text(2 * 86400 + 3 * 3600), "2 d 03 h");
  EXPECT_EQ(duration_text(1e300), "99 d 00 h");
}

TEST(TransferRate, Sizes) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(999), "999 B");
  EXPECT_EQ(size_text(1'005'000), "1.00 MB");
  EXPECT_EQ(size_text(12'345'678), "12.3 MB");
  EXPECT_EQ(size_text(123'456'789), "123 MB");
}

}  // namespace
}  // namespace ingot
