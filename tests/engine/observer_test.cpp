// Engine: its metrics agree with what readers saw, and what prepares it cannot be seen.
#include <numeric>

#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "runtime/observe/engine_metrics.h"

namespace ingot::testing_support {
namespace {

std::unique_ptr<EditableCheckpoint> checkpoint() {
  return make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
}

/// What readers of some requests saw.
struct Seen {
  std::uint64_t prompt = 0;
  std::uint64_t cached = 0;
  std::uint64_t generated = 0;
  std::array<std::uint64_t, kFinishReasons> finished{};
  std::uint64_t with_tokens = 0;

  void add(const Collected& got, const Outcome& outcome) {
    ++finished[static_cast<std::size_t>(outcome.finish)];
    generated += got.ids.size();
    with_tokens += got.ids.empty() ? 0 : 1;
    prompt += static_cast<std::uint64_t>(outcome.prompt_tokens);
    cached += static_cast<std::uint64_t>(outcome.cached_tokens);
  }
};

/// Runs requests to their end, from an engine without a thread.
Seen serve(Engine& engine, std::vector<Stream>& streams) {
  Seen seen;
  std::vector<Collected> got(streams.size());
  for (bool more = true; more;) {
    more = engine.step();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      while (const auto delta = streams[i].try_next()) got[i].add(*delta);
    }
  }
  for (std::size_t i = 0; i < streams.size(); ++i) seen.add(got[i], streams[i].outcome());
  return seen;
}

std::vector<Stream> submit_many(Engine& engine, int count) {
  std::mt19937_64 rng(7);
  std::vector<Stream> streams;
  for (int i = 0; i < count; ++i) {
    Request request = random_request(rng, 40, 50);
    if (i % 4 != 0) request.prompt.insert(request.prompt.begin(), 32, 5);
    if (i % 5 == 1) {  // its prompt is computed, and nothing after it
      request.max_tokens = 0;
      request.prompt_logprobs = 1;
    }
    streams.push_back(*engine.submit(std::move(request)));
  }
  return streams;
}

TEST(EngineObserver, MetricsAgreeWithWhatReadersSaw) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  RunnerOptions options = EngineRunner::defaults();
  options.pool_sequences = 2;  // so that some are preempted
  double now = 0;              // a clock that makes all runs equal
  EngineRunner runner(*model, options, {.now = [&] { return now += 0.001; }, .observer = &metrics});
  std::vector<Stream> streams = submit_many(runner.engine(), 40);
  const Seen seen = serve(runner.engine(), streams);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.prompt_tokens, seen.prompt);
  EXPECT_EQ(c.prefix_queries, seen.prompt);
  EXPECT_EQ(c.prefix_hits, seen.cached);
  EXPECT_GT(c.prefix_hits, 0u) << "otherwise this shows less than it could";
  EXPECT_EQ(c.generation_tokens, seen.generated);
  EXPECT_EQ(c.finished, seen.finished);
  EXPECT_GT(c.finished_by(FinishReason::kStop), 0u);
  EXPECT_EQ(c.preemptions, static_cast<std::uint64_t>(runner.engine().scheduler().preemptions()));
  EXPECT_GT(c.preemptions, 0u);
  EXPECT_EQ(c.prefix_entries, c.blocks_evictable);
  EXPECT_GT(c.prefix_evictions, 0u);
  EXPECT_EQ(c.first_token_seconds.count(), seen.with_tokens);
  EXPECT_EQ(c.token_gap_seconds.count(), seen.generated - seen.with_tokens);
  EXPECT_EQ(c.request_seconds.count(), streams.size());
  EXPECT_EQ(c.request_generation_tokens.sum(), static_cast<double>(seen.generated));
  EXPECT_EQ(c.request_prompt_tokens.sum(), static_cast<double>(seen.prompt));
  EXPECT_EQ(c.request_choices.sum(), static_cast<double>(streams.size()));
  EXPECT_LE(c.first_token_seconds.sum(), c.request_seconds.sum());
  EXPECT_LE(c.inference_seconds.sum(), c.request_seconds.sum());
  EXPECT_NEAR(c.prefill_seconds.sum() + c.queue_seconds.sum() + c.decode_seconds.sum(),
              c.request_seconds.sum(), c.request_seconds.sum() * 1e-3)
      << "its parts, but for the moments after last tokens of those without any";
}

TEST(EngineObserver, WhenAllHaveEndedNothingRuns) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  EngineRunner runner(*model, EngineRunner::defaults(), {.observer = &metrics});
  std::vector<Stream> streams = submit_many(runner.engine(), 5);
  runner.engine().step();
  const EngineCounts begun = metrics.snapshot();
  EXPECT_EQ(begun.running, runner.engine().scheduler().running());
  EXPECT_GT(begun.running, 0);
  EXPECT_EQ(begun.blocks_referenced, runner.blocks_in_use());
  EXPECT_GT(begun.kv_usage(), 0);
  serve(runner.engine(), streams);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.running, 0);
  EXPECT_EQ(c.blocks_referenced, 0);
  EXPECT_GT(c.blocks_evictable, 0);
  EXPECT_EQ(c.blocks_free + c.blocks_evictable, c.blocks_total);
  EXPECT_EQ(c.prefix_entries, c.blocks_evictable);
  const KvGroup& group = runner.engine().cache().group(0);
  EXPECT_EQ(c.prefix_bytes, c.prefix_entries * group.bytes_per_block());
  EXPECT_EQ(c.prefix_evictions, 0u);
}

TEST(EngineObserver, WhoLeavesBetweenStepsIsGoneFromTheGauges) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  EngineRunner runner(*model, EngineRunner::defaults(), {.observer = &metrics});
  Stream stream = *runner.engine().submit({.prompt = {1, 2, 3}, .max_tokens = 50});
  runner.engine().step();
  EXPECT_EQ(metrics.snapshot().running, 1);
  stream.cancel();
  runner.engine().step();
  EXPECT_EQ(metrics.snapshot().running, 0);
  EXPECT_EQ(metrics.snapshot().finished_by(FinishReason::kCancelled), 1u);
}

/// A request whose reader leaves during its prefill counts the tokens that were computed.
TEST(EngineObserver, ACutPrefillCountsWhatWasComputed) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  RunnerOptions options = EngineRunner::defaults();
  options.rows = 16;
  EngineRunner runner(*model, options, {.observer = &metrics});
  Engine& engine = runner.engine();
  Stream stream = *engine.submit({.prompt = std::vector<std::int32_t>(60, 5), .max_tokens = 20});
  engine.step();
  ASSERT_EQ(engine.scheduler().running(), 1);
  const std::int64_t computed = engine.scheduler().running_sequences()[0]->computed;
  ASSERT_GT(computed, 0);
  ASSERT_LT(computed, 60);
  stream.cancel();
  engine.step();
  ASSERT_TRUE(stream.finished());
  EXPECT_EQ(stream.outcome().prompt_tokens, 60);
  EXPECT_EQ(stream.outcome().computed_tokens, computed);
  const EngineCounts c = metrics.snapshot();
  EXPECT_EQ(c.prompt_tokens, static_cast<std::uint64_t>(computed));
  EXPECT_EQ(c.request_prompt_tokens.sum(), 60);
  EXPECT_EQ(c.request_generation_tokens.count(), 1u);
  EXPECT_EQ(c.queue_seconds.count(), 1u);
  EXPECT_EQ(c.first_token_seconds.count(), 0u);
}

TEST(EngineObserver, ARequestThatNeverRanEndsInTheMetricsToo) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  EngineRunner runner(*model, EngineRunner::defaults(), {.observer = &metrics});
  run_alone(runner, {.prompt = {1, 2, 3}, .max_tokens = 9});
  Request late{.prompt = {1, 2, 3}, .max_tokens = 50};
  late.end_seconds = 0;
  Stream refused = *runner.engine().submit(std::move(late));
  runner.engine().step();
  EXPECT_EQ(metrics.snapshot().finished_by(FinishReason::kError), 1u);
  const auto queued = runner.engine().submit_choices({.prompt = {1, 2, 3}, .max_tokens = 9}, 3);
  runner.engine().stop();
  EXPECT_EQ(metrics.snapshot().finished_by(FinishReason::kCancelled), 3u);
  EXPECT_EQ(runner.engine().under_way(), 0u);
}

TEST(EngineObserver, ACancelledRequestsBlocksAreTimedFromItsCancelling) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  double now = 5;
  EngineRunner runner(*model, EngineRunner::defaults(),
                      {.now = [&] { return now; }, .observer = &metrics});
  Engine& engine = runner.engine();
  Stream running = *engine.submit({.prompt = {1, 2, 3}, .max_tokens = 50});
  Stream other = *engine.submit({.prompt = {1, 2, 3}, .max_tokens = 2});
  engine.step();
  now = 6;
  running.cancel();
  now = 6.25;
  running.cancel();
  { const Stream queued = *engine.submit({.prompt = {1, 2, 3}, .max_tokens = 50}); }
  now = 6.5;
  EXPECT_EQ(metrics.snapshot().cancel_to_free_seconds.count(), 0u);
  while (engine.step()) continue;
  EXPECT_EQ(metrics.snapshot().cancel_to_free_seconds.count(), 2u) << "the other ended by itself";
  EXPECT_EQ(metrics.snapshot().cancel_to_free_seconds.sum(), 0.5 + 0.25);
  EXPECT_EQ(runner.blocks_in_use(), 0);
}

TEST(EngineObserver, RejectionsHaveReasons) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  EngineRunner runner(*model, EngineRunner::defaults(), {.waiting_max = 0, .observer = &metrics});
  Engine& engine = runner.engine();
  const Request good{.prompt = {1, 2, 3}, .max_tokens = 2};
  const auto rejected = [&](Rejection reason) { return metrics.snapshot().rejected_for(reason); };
  EXPECT_THROW(static_cast<void>(engine.submit({.prompt = {-1}})), Error);
  EXPECT_THROW(static_cast<void>(engine.submit_choices(Request(good), 0)), Error);
  EXPECT_EQ(rejected(Rejection::kInvalid), 2u);
  EXPECT_TRUE(engine.submit_choices(Request(good), 13).empty()) << "twelve run";
  EXPECT_EQ(rejected(Rejection::kFull), 13u);
  Request late = good;
  late.end_seconds = 0;
  const auto refused = engine.submit(std::move(late));
  engine.step();
  EXPECT_EQ(rejected(Rejection::kDeadline), 1u);
  engine.begin_drain(0);
  EXPECT_TRUE(engine.submit_choices(Request(good), 2).empty());
  EXPECT_EQ(rejected(Rejection::kDraining), 2u);
}

/// All blocks of a request that may not be preempted are reserved.
TEST(EngineObserver, BlocksThatAreKeptAreReserved) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  EngineRunner runner(*model, EngineRunner::defaults(),
                      {.preemptions_max = 0, .observer = &metrics});
  Stream stream = *runner.engine().submit({.prompt = {1, 2, 3}, .max_tokens = 40});
  runner.engine().step();
  EXPECT_EQ(metrics.snapshot().blocks_reserved, 2) << "it holds one block of three";
  while (runner.engine().step())
    while (stream.try_next()) continue;
  EXPECT_EQ(metrics.snapshot().blocks_reserved, 0);
}

TEST(EngineObserver, ChoicesAreOneRequestOfSoMany) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  EngineRunner runner(*model, EngineRunner::defaults(), {.observer = &metrics});
  auto streams = runner.engine().submit_choices({.prompt = {1, 2, 3}, .max_tokens = 9}, 3);
  serve(runner.engine(), streams);
  EXPECT_EQ(metrics.snapshot().request_choices.count(), 1u);
  EXPECT_EQ(metrics.snapshot().request_choices.sum(), 3);
  EXPECT_EQ(metrics.snapshot().request_max_tokens.sum(), 27);
}

/// Readers, an engine's thread and a thread that reads metrics, all at once.
TEST(EngineObserver, MetricsMayBeReadWhileTheEngineRuns) {
  const auto model = checkpoint();
  EngineMetrics metrics;
  EngineRunner runner(*model, EngineRunner::defaults(), {.observer = &metrics});
  runner.engine().start();
  std::vector<Stream> streams = submit_many(runner.engine(), 12);
  std::uint64_t read = 0;
  for (Stream& stream : streams) {
    while (const auto delta = stream.next()) {
      read += delta->ids.size();
      const EngineCounts c = metrics.snapshot();
      EXPECT_EQ(c.generation_tokens, c.first_token_seconds.count() + c.token_gap_seconds.count());
    }
  }
  runner.engine().stop();
  EXPECT_EQ(metrics.snapshot().generation_tokens, read);
}

/// Prompts that begin with the warm-up's token find no cached block of it.
TEST(EnginePrepare, LeavesNothingBehind) {
  for (const RandomModel& random : random_models(F32::kFormat)) {
    SCOPED_TRACE(random.name);
    const auto model = make_checkpoint(two_layers(random), 3);
    RunnerOptions options = EngineRunner::defaults();
    options.draft_rows = 0;  // each step gives one token
    EngineRunner cold(*model, options);
    Request request{.prompt = std::vector<std::int32_t>(40, 0), .max_tokens = 9, .digest = true};
    const std::string expected = run_alone(cold, request);
    EngineMetrics metrics;
    EngineRunner warm(*model, options, {.observer = &metrics});
    warm.engine().prepare();
    EXPECT_EQ(warm.blocks_in_use(), 0);
    const KvCache& cache = warm.model().executor().cache();
    for (std::int32_t g = 0; g < cache.groups(); ++g) {
      EXPECT_EQ(cache.pool(g).free(), cache.pool(g).total());
      cache.pool(g).check();
    }
    EXPECT_EQ(metrics.snapshot().steps, 0u);
    EXPECT_EQ(warm.engine().scheduler().times().decode_seconds(1), 0);
    Stream stream = *warm.engine().submit(std::move(request));
    Collected got;
    for (bool more = true; more;) {
      more = warm.engine().step();
      while (const auto delta = stream.try_next()) got.add(*delta);
    }
    EXPECT_EQ(stream.id(), 1u);
    EXPECT_EQ(describe(got, stream.outcome()), expected);
    EXPECT_EQ(stream.outcome().cached_tokens, 0);
    EXPECT_EQ(metrics.snapshot().steps, 10u - 1);
  }
}

/// The smallest engine, and a pool that has no block to give.
TEST(EnginePrepare, DoesWhatThereIsRoomFor) {
  const auto model = checkpoint();
  RunnerOptions options = EngineRunner::defaults();
  options.context = 3;
  options.rows = 1;
  options.sequences = 1;
  EngineRunner small(*model, options);
  small.engine().prepare();
  EXPECT_EQ(small.blocks_in_use(), 0);
  small.model().executor().cache().refuse_when([] { return true; });
  small.engine().prepare();
  EXPECT_EQ(small.blocks_in_use(), 0);
}

#if !defined(INGOT_SANITIZED)
TEST(EnginePrepareDeathTest, ComesBeforeTheFirstRequest) {
  const auto model = checkpoint();
  EngineRunner runner(*model);
  run_alone(runner, {.prompt = {1}, .max_tokens = 1});
  EXPECT_DEATH(runner.engine().prepare(), "once there were requests");
}
#endif

}  // namespace
}  // namespace ingot::testing_support
