// Tests of StreamPace: few events, many, and how intervals grow.
#include "server/http/pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ingot {
namespace {

using PaceClock = StreamPace::Clock;
constexpr auto kPerEvent = StreamPace::kPerEvent;
/// Where intervals of every length begin.
constexpr PaceClock::time_point kBegin{70000 * StreamPace::kStreamsMax * kPerEvent};

/// A pace with this number of streams that has used up its budget.
StreamPace busy(int streams) {
  StreamPace pace;
  for (int i = 0; i < streams; ++i) pace.begin_stream();
  for (int i = 0; i < StreamPace::kBurst; ++i) EXPECT_EQ(pace.sent(kBegin), kBegin) << i;
  return pace;
}

TEST(StreamPace, FewEventsGoOutAtOnce) {
  StreamPace pace;
  for (int i = 0; i < 64; ++i) pace.begin_stream();
  PaceClock::time_point now = kBegin;
  for (int i = 0; i < 10000; ++i, now += kPerEvent) EXPECT_EQ(pace.sent(now), now) << i;
}

TEST(StreamPace, IntervalsGrowWithStreams) {
  constexpr std::pair<int, int> kEvents[] = {{1, 1},   {2, 2},   {3, 4},   {16, 16},
                                             {17, 32}, {32, 32}, {33, 32}, {1000, 32}};
  for (const auto& [streams, events] : kEvents) {
    StreamPace pace = busy(streams);
    EXPECT_EQ(pace.sent(kBegin), kBegin + events * kPerEvent) << streams;
  }
}

TEST(StreamPace, ThoseWhoLeftCountNoMore) {
  StreamPace pace = busy(32);
  for (int i = 0; i < 30; ++i) pace.end_stream();
  EXPECT_EQ(pace.sent(kBegin), kBegin + 2 * kPerEvent);
}

TEST(StreamPace, AllLookAtTheSameMoments) {
  StreamPace pace = busy(32);
  for (int i = 0; i < StreamPace::kBurst; ++i) pace.sent(kBegin);
  const auto until = pace.sent(kBegin);
  EXPECT_EQ(pace.sent(until - kPerEvent), until);
  EXPECT_EQ(pace.sent(until - std::chrono::nanoseconds(1)), until);
  EXPECT_EQ(pace.sent(until), until + 32 * kPerEvent);
}

TEST(StreamPace, AlsoWhenSomeLeave) {
  StreamPace pace = busy(32);
  for (int i = 0; i < StreamPace::kBurst; ++i) pace.sent(kBegin);
  const auto all = pace.sent(kBegin);
  for (int i = 0; i < 16; ++i) pace.end_stream();
  const auto half = pace.sent(kBegin);
  EXPECT_EQ(half, kBegin + 16 * kPerEvent);
  EXPECT_EQ(pace.sent(half), all);
}

/// With tokens at every moment, events stay within the pace while intervals can grow.
TEST(StreamPace, EventsStayWithinThePace) {
  for (const int streams : {1, 5, 32}) {
    StreamPace pace = busy(streams);
    PaceClock::time_point now = kBegin;
    std::int64_t events = 0;
    while (now < kBegin + std::chrono::seconds(10)) {
      PaceClock::time_point until = now;
      for (int i = 0; i < streams; ++i, ++events) until = std::max(until, pace.sent(now));
      now = until > now ? until : now + std::chrono::microseconds(100);
    }
    EXPECT_LE(events * kPerEvent, now - kBegin + (StreamPace::kBurst + streams) * kPerEvent)
        << streams;
  }
}

TEST(StreamPace, SavesAndOwesNoMoreThanABurst) {
  StreamPace pace = busy(64);
  for (int i = 0; i < 10000; ++i) EXPECT_GT(pace.sent(kBegin), kBegin);
  const auto rested = kBegin + (StreamPace::kBurst + 1) * kPerEvent;
  EXPECT_EQ(pace.sent(rested), rested);
  const auto later = kBegin + std::chrono::hours(1);
  for (int i = 0; i < StreamPace::kBurst; ++i) EXPECT_EQ(pace.sent(later), later) << i;
  EXPECT_GT(pace.sent(later), later);
}

}  // namespace
}  // namespace ingot
