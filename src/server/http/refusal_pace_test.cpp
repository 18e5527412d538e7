// Tests of RefusalPace: a flood of refusals rests, single ones do not.
#include "server/http/pace.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

using PaceClock = RefusalPace::Clock;
constexpr auto kNone = PaceClock::duration::zero();
constexpr auto kPerWake = RefusalPace::kPerWake;

PaceClock::duration rest_of_refusal(RefusalPace& pace, PaceClock::time_point now) {
  pace.refused();
  return pace.rest(now);
}

TEST(RefusalPace, RestsBeyondABurstOnly) {
  RefusalPace pace;
  PaceClock::time_point now{std::chrono::hours(1)};
  for (int i = 0; i < RefusalPace::kBurst; ++i) EXPECT_EQ(rest_of_refusal(pace, now), kNone) << i;
  for (int i = 0; i < 100; ++i) {
    const PaceClock::duration rest = rest_of_refusal(pace, now);
    EXPECT_EQ(rest, kPerWake) << i;
    now += rest;
  }
}

TEST(RefusalPace, WhoIsServedPaysNothing) {
  RefusalPace pace;
  const PaceClock::time_point now{std::chrono::hours(1)};
  for (int i = 0; i < RefusalPace::kBurst; ++i) rest_of_refusal(pace, now);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(pace.rest(now), kNone);
  EXPECT_EQ(rest_of_refusal(pace, now), kPerWake);
}

TEST(RefusalPace, SavesNoMoreThanABurst) {
  RefusalPace pace;
  PaceClock::time_point now{std::chrono::hours(1)};
  for (int i = 0; i < 2; ++i, now += std::chrono::hours(1)) {
    for (int n = 0; n < RefusalPace::kBurst; ++n) EXPECT_EQ(rest_of_refusal(pace, now), kNone) << n;
    EXPECT_EQ(rest_of_refusal(pace, now), kPerWake);
  }
}

TEST(RefusalPace, RestsForWhatIsMissing) {
  RefusalPace pace;
  PaceClock::time_point now{std::chrono::hours(1)};
  for (int i = 0; i < RefusalPace::kBurst; ++i) rest_of_refusal(pace, now);
  now += kPerWake / 4;
  EXPECT_EQ(rest_of_refusal(pace, now), kPerWake - kPerWake / 4);
}

}  // namespace
}  // namespace ingot
