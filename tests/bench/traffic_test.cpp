// A run of traffic on an engine: what starts when, what is counted, and the same bits as alone.
#include <numeric>

#include "bench/traffic/traffic_run.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

constexpr double kTick = 1.0 / 1024;  // sums of it are exact

/// A clock that advances by one tick whenever it is read, and by the time of each wait.
struct TestClock {
  double time = 100;
  std::vector<double> waits{};

  TrafficClock clock() {
    return {.now = [this] { return time += kTick; },
            .wait =
                [this](double until) {
                  waits.push_back(until);
                  time = std::max(time, until);
                }};
  }
};

std::unique_ptr<EditableCheckpoint> checkpoint() {
  return make_checkpoint(two_layers(random_models(F32::kFormat).front()), 11);
}

/// Serves a traffic on an engine of its own.
struct Served {
  std::vector<ServedRequest> requests;
  TestClock clock;
  std::int64_t most = 0;  ///< requests that ran or waited in some step
  std::int64_t preemptions = 0;
};

RequestRecipe recipe(float temperature = 0) {
  std::vector<std::int32_t> ids(37);
  std::iota(ids.begin(), ids.end(), 0);
  return {.ids = std::move(ids), .seed = 5, .temperature = temperature};
}

Served serve(const Traffic& traffic, TrafficRunOptions options,
             const RunnerOptions& runner_options = EngineRunner::defaults(),
             const EngineOptions& engine_options = {}, float temperature = 0) {
  const auto model = checkpoint();
  EngineRunner runner(*model, runner_options, engine_options);
  const RequestWriter writer(traffic, recipe(temperature));
  Served served;
  Engine& engine = runner.engine();
  options.on_step = [&] {
    const Scheduler& scheduler = engine.scheduler();
    served.most = std::max(served.most, scheduler.running() + scheduler.waiting());
  };
  TrafficRun run(engine, traffic, writer, served.clock.clock(), std::move(options));
  served.requests = run.run();
  served.preemptions = engine.scheduler().preemptions();
  EXPECT_EQ(runner.blocks_in_use(), 0);
  return served;
}

TEST(TrafficRun, StartsRequestsAtTheirArrival) {
  Traffic traffic = synthetic_traffic({.requests = 3, .input = {20, 20}, .output = {5, 5}});
  traffic.requests[1].arrival = 50;
  traffic.requests[2].arrival = 50;
  const Served served = serve(traffic, {});
  ASSERT_EQ(served.requests.size(), 3U);
  // It began at the first look at the clock, one tick after 100.
  EXPECT_EQ(served.clock.waits, std::vector<double>{100 + kTick + 50});
  EXPECT_EQ(served.requests[0].start, 0);
  EXPECT_EQ(served.requests[1].start, 50);
  EXPECT_LT(served.requests[0].last, 1);
  for (const ServedRequest& r : served.requests) {
    EXPECT_TRUE(r.is_completed());
    EXPECT_EQ(r.prompt_tokens, 20);
    EXPECT_EQ(r.output_tokens, 5);
    EXPECT_EQ(r.gaps.size(), 4U);
    EXPECT_GT(r.first, r.start);
    double time = r.first;
    for (const double gap : r.gaps) time += gap;
    EXPECT_EQ(time, r.last);
    EXPECT_FALSE(r.digest) << "the request asks for no digest";
    EXPECT_TRUE(r.ids.empty());
  }
}

TEST(TrafficRun, TimeBeforeARequestIsTakenInCounts) {
  // They arrive together, but one runs at a time.
  RunnerOptions options = EngineRunner::defaults();
  options.sequences = 1;
  const Traffic traffic = synthetic_traffic({.requests = 2, .input = {9, 9}, .output = {6, 6}});
  const Served served = serve(traffic, {}, options);
  EXPECT_EQ(served.requests[1].start, 0);
  EXPECT_GT(served.requests[1].first, served.requests[0].last);
}

TEST(TrafficRun, TheQueueEndsWithTheFirstStep) {
  TestClock clock;
  RunnerOptions options = EngineRunner::defaults();
  options.sequences = 1;
  const auto model = checkpoint();
  EngineRunner runner(*model, options, {.now = [&] { return clock.time += kTick; }});
  Traffic traffic = synthetic_traffic({.requests = 3, .input = {9, 9}, .output = {6, 6}});
  traffic.requests[2].arrival = 2 * kTick;  // submitted once the first step is done
  const RequestWriter writer(traffic, recipe());
  const auto served = TrafficRun(runner.engine(), traffic, writer, clock.clock(), {}).run();
  EXPECT_LT(served[0].queue, served[0].first);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_GT(served[i].start + served[i].queue, served[i - 1].last);
    EXPECT_LT(served[i].start + served[i].queue, served[i].first);
  }
}

TEST(TrafficRun, AClosedLoopKeepsSoManyUnderWay) {
  Traffic traffic = synthetic_traffic({.requests = 9, .input = {5, 9}, .output = {2, 9}});
  traffic.requests[4].arrival = 1e9;  // does not count
  std::size_t done = 0;
  const Served served =
      serve(traffic, {.concurrency = 2, .on_done = [&](std::size_t n) { done = n; }});
  EXPECT_EQ(done, 9U);
  EXPECT_EQ(served.most, 2);
  EXPECT_TRUE(served.clock.waits.empty());
  for (std::size_t i = 2; i < 9; ++i) {
    const ServedRequest& r = served.requests[i];
    const auto ended = [&](const ServedRequest& other) { return other.last < r.start; };
    EXPECT_TRUE(r.is_completed());
    EXPECT_GE(std::count_if(served.requests.begin(), served.requests.end(), ended),
              static_cast<std::ptrdiff_t>(i) - 1)
        << i;
  }
}

TEST(TrafficRun, WhatAFullQueueRefusesIsBusy) {
  RunnerOptions options = EngineRunner::defaults();
  options.sequences = 2;
  const Traffic traffic = synthetic_traffic({.requests = 7, .input = {5, 5}, .output = {3, 3}});
  const Served served = serve(traffic, {}, options, {.waiting_max = 2});
  std::vector<bool> busy;
  for (const ServedRequest& r : served.requests) {
    busy.push_back(r.is_busy);
    EXPECT_NE(r.is_busy, r.is_completed());
    EXPECT_EQ(r.output_tokens, r.is_busy ? 0 : 3);
  }
  EXPECT_EQ(busy, (std::vector<bool>{false, false, false, false, true, true, true}));
}

TEST(TrafficRun, CheckedRequestsGiveTheSameAlone) {
  const Traffic traffic = synthetic_traffic(
      {.requests = 12, .input = {10, 50}, .output = {5, 30}, .shared_prefix = 10, .seed = 3});
  RunnerOptions options = EngineRunner::defaults();
  options.pool_sequences = 2;
  const Served served = serve(traffic, {.checked = {1, 4, 11}}, options, {}, 0.8F);
  EXPECT_GT(served.preemptions, 0) << "otherwise this shows less than it could";
  const auto model = checkpoint();
  EngineRunner alone(*model);
  const RequestWriter writer(traffic, recipe(0.8F));
  for (const std::size_t number : {1U, 4U, 11U}) {
    const ServedRequest& together = served.requests[number];
    ASSERT_TRUE(together.digest);
    EXPECT_EQ(std::ssize(together.ids), traffic.requests[number].output_tokens);
    const ServedRequest again = serve_alone(alone.engine(), writer.write(number), nullptr);
    EXPECT_TRUE(again.has_output_of(together)) << number;
    const ServedRequest other = serve_alone(alone.engine(), writer.write(number - 1), nullptr);
    EXPECT_FALSE(other.has_output_of(together)) << number;
  }
  EXPECT_FALSE(served.requests[0].digest);
}

TEST(TrafficRun, ARequestThatFailsSaysWhy) {
  const auto model = checkpoint();
  model->fill_row("output_norm.weight", 0, std::byte{0xFF});
  EngineRunner runner(*model);
  const Traffic traffic = synthetic_traffic({.requests = 1, .input = {5, 5}, .output = {3, 3}});
  const RequestWriter writer(traffic, recipe());
  TestClock clock;
  const auto served = TrafficRun(runner.engine(), traffic, writer, clock.clock(), {}).run();
  EXPECT_FALSE(served.front().is_completed());
  EXPECT_NE(served.front().error, "");
}

TEST(TrafficClock, WaitsEndSoon) {
  const TrafficClock clock = steady_traffic_clock();
  const double before = clock.now();
  clock.wait(before + 1e9);  // a signal has to be noticed meanwhile
  EXPECT_GE(clock.now(), before);
}

}  // namespace
}  // namespace ingot::testing_support
