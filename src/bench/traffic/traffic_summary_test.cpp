// Figures of a run, against what can be counted by hand.
#include "bench/traffic/traffic_summary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ingot {
namespace {

TEST(Distribution, TakesItsNumbersInAnyOrder) {
  const Distribution d = distribution({4, 1, 3, 2});
  EXPECT_EQ(d.mean, 2.5);
  EXPECT_EQ(d.median, 2.5);
  EXPECT_EQ(d.p50, 2.5);
  EXPECT_DOUBLE_EQ(d.p90, 3.7);
  EXPECT_DOUBLE_EQ(d.p99, 3.97);
  // Distances 1.5, 0.5, 0.5, 1.5; their squares sum to 5, and there are four.
  EXPECT_DOUBLE_EQ(d.std, std::sqrt(1.25));
  EXPECT_EQ(distribution({}).mean, 0);
  EXPECT_EQ(distribution({7}).std, 0);
}

/// Starts at `start`; its tokens come at `times`.
ServedRequest served(double start, const std::vector<double>& times, std::int64_t prompt,
                     std::int64_t cached) {
  ServedRequest r{.start = start, .first = times.front(), .last = times.back()};
  for (std::size_t i = 1; i < times.size(); ++i) r.gaps.push_back(times[i] - times[i - 1]);
  r.prompt_tokens = prompt;
  r.cached_tokens = cached;
  r.output_tokens = std::ssize(times);
  return r;
}

std::vector<ServedRequest> four_requests() {
  std::vector<ServedRequest> all{served(0, {0.5, 0.75, 1.5}, 10, 0), served(1, {2}, 30, 20)};
  all.push_back({.start = 1.5, .is_busy = true});
  all.push_back({.start = 2, .error = "out of memory"});
  return all;
}

TEST(TrafficSummary, IsOfTheCompletedOnes) {
  const TrafficSummary sum = summarise(four_requests(), {});
  EXPECT_EQ(sum.duration, 2);
  EXPECT_EQ(sum.completed, 2);
  EXPECT_EQ(sum.busy, 1);
  EXPECT_EQ(sum.failed, 1);
  EXPECT_EQ(sum.input_tokens, 40);
  EXPECT_EQ(sum.output_tokens, 4);
  EXPECT_EQ(sum.per_second(sum.output_tokens), 2);
  EXPECT_EQ(sum.cache_hit_rate(), 0.5);
  EXPECT_EQ(sum.ttft_ms.mean, 750);
  EXPECT_EQ(sum.tpot_ms.mean, 500) << "one second for two further tokens; one token has none";
  EXPECT_EQ(sum.itl_ms.mean, 500);
  EXPECT_EQ(sum.itl_ms.p99, 250 + 0.99 * 500);
  EXPECT_EQ(sum.e2el_ms.mean, 1250);
}

TEST(TrafficSummary, GoodOnesKeepEveryBound) {
  const auto good = [](const Goodput& goodput) { return summarise(four_requests(), goodput).good; };
  EXPECT_EQ(good({}), 2);
  EXPECT_EQ(good({.ttft_ms = 500}), 1);
  EXPECT_EQ(good({.ttft_ms = 499}), 0);
  EXPECT_EQ(good({.tpot_ms = 499}), 1) << "one token keeps any";
  EXPECT_EQ(good({.e2el_ms = 1000}), 1);
  EXPECT_EQ(good({.ttft_ms = 500, .e2el_ms = 1000}), 0) << "each breaks another";
}

TEST(TrafficSummary, OfNothingIsZero) {
  const TrafficSummary sum = summarise({}, {});
  EXPECT_EQ(sum.per_second(5), 0);
  EXPECT_EQ(sum.cache_hit_rate(), 0);
  EXPECT_EQ(sum.ttft_ms.p99, 0);
}

}  // namespace
}  // namespace ingot
