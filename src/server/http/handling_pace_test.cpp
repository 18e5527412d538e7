// Tests of HandlingPace: what takes long is handled elsewhere for a while.
#include "server/http/handling_pace.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(HandlingPace, AfterALongRequestOthersRestForAWhile) {
  constexpr HandlingPace::Clock::time_point kBegin{std::chrono::hours(5)};
  constexpr auto kTick = HandlingPace::Clock::duration(1);
  HandlingPace pace;
  EXPECT_TRUE(pace.is_quick(kBegin));
  pace.took(HandlingPace::kLong, kBegin);
  EXPECT_TRUE(pace.is_quick(kBegin));
  pace.took(HandlingPace::kLong + kTick, kBegin);
  EXPECT_FALSE(pace.is_quick(kBegin));
  EXPECT_FALSE(pace.is_quick(kBegin + HandlingPace::kRest - kTick));
  EXPECT_TRUE(pace.is_quick(kBegin + HandlingPace::kRest));
}

}  // namespace
}  // namespace ingot
