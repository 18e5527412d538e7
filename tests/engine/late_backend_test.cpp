// Engines on a device that computes steps later give the results of engines on the host.
#include "base/error.h"
#include "engine/constraint_test_util.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

struct LateResult {
  std::string text;  ///< as `describe` writes it
  std::vector<float> hidden;
  std::string error;  ///< its message, or empty

  bool operator==(const LateResult&) const = default;
};

std::vector<LateResult> results_of(EngineRunner& runner, const std::vector<Request>& requests) {
  std::vector<Stream> streams;
  for (const Request& r : requests) streams.push_back(*runner.engine().submit(Request(r)));
  std::vector<Collected> all(streams.size());
  for (bool more = true; more;) {
    more = runner.engine().step();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      while (const auto delta = streams[i].try_next()) all[i].add(*delta);
    }
  }
  std::vector<LateResult> results;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Outcome& outcome = streams[i].outcome();
    results.push_back({.text = describe(all[i], outcome),
                       .hidden = outcome.hidden,
                       .error = outcome.error ? outcome.error->message() : ""});
  }
  return results;
}

/// Parameters with which a device can draw, with logits and without. Masks, biases and filters that
/// are lost or that reach another row give other tokens within a few draws.
std::vector<SamplingParams> device_sampling() {
  return {
      {.min_tokens = 12, .end_ids = {3, 11, 30}, .temperature = 0.9f},
      {.allowed_token_ids = {2, 7, 19, 33, 36}, .temperature = 0.9f, .logprobs = 2},
      {.temperature = 0.9f, .top_k = 6},
      {.temperature = 0.9f, .top_p = 0.5f},
      {.temperature = 0.9f, .min_p = 0.4f, .logprobs = 0},
      {.min_tokens = 20,
       .end_ids = {3, 8},
       .allowed_token_ids = {1, 3, 8, 11, 25, 34},
       .temperature = 0.9f},
      {.logit_bias = {{.id = 5, .bias = 2}, {.id = 9, .bias = kBan}},
       .temperature = 0.9f,
       .top_k = 12,
       .top_p = 0.8f,
       .min_p = 0.05f},
      {.min_tokens = 30, .end_ids = {0, 5, 36}, .temperature = 0.9f, .top_p = 0.6f, .logprobs = 3},
      {.logit_bias = {{.id = 30, .bias = -1}, {.id = 36, .bias = 1}}},
      {.allowed_token_ids = {0, 4, 6, 12, 18, 31, 32}, .temperature = 0.9f, .min_p = 0.1f},
  };
}

/// Requests of all kinds: two for each entry of device_sampling, one of them constrained, some for
/// hidden states, and some of random_request, for which the host draws because they want a digest
/// of the logits.
std::vector<Request> late_requests(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<Request> requests, constrained;
  const auto add_random = [&] { requests.push_back(random_request(rng, 20, 60)); };
  const auto add_hidden = [&] {
    requests.push_back({.prompt = random_request(rng, 20, 60).prompt, .hidden = HiddenRows::kAll});
  };
  for (const SamplingParams& sampling : device_sampling()) {
    Request request = random_request(rng, 20, 60);
    request = {.prompt = request.prompt, .sampling = sampling, .max_tokens = 40};
    request.sampling.seed = rng();
    requests.push_back(request);
    constrain(request);
    request.sampling.seed = rng();
    constrained.push_back(std::move(request));
    if (requests.size() % 4 == 2) add_hidden();
    if (requests.size() % 4 == 0) add_random();
  }
  // Behind the others, so that the tests whose faults depend on a request's place keep their
  // faults.
  for (Request& request : constrained) requests.push_back(std::move(request));
  for (std::size_t i = requests.size() - 3; i < requests.size(); ++i) requests[i].digest = true;
  return requests;
}

/// The requests, each with other adapters of the runner or without.
std::vector<Request> with_adapters(EngineRunner& runner, std::vector<Request> requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].adapters = runner.model().adapters(i % 4);
  }
  return requests;
}

struct LateCase {
  std::int32_t depth = 1;
  bool draws = false;
};

RunnerOptions host_options() {
  RunnerOptions options = EngineRunner::defaults();
  options.late = 0;
  options.adapters = 2;
  return options;
}

RunnerOptions late_options(const LateCase& late) {
  RunnerOptions options = host_options();
  options.late = late.depth;
  options.late_draws = late.draws;
  return options;
}

/// A model with a window in some layers.
std::unique_ptr<EditableCheckpoint> late_checkpoint() {
  return make_checkpoint(two_layers(random_models(Q8_0::kFormat)[1]), 1);
}

[[noreturn]] void lose_device() { throw Error(ErrorCode::kInternal, "the device was lost"); }

/// A pool for few sequences, so that some are preempted, share prefixes and copy blocks.
class LateEngine : public ::testing::TestWithParam<LateCase> {
 protected:
  static RunnerOptions host() { return with_small_pool(host_options()); }
  static RunnerOptions device() { return with_small_pool(late_options(GetParam())); }
  static void expect_host_results(const RunnerOptions& options, std::uint64_t seed) {
    const auto model = late_checkpoint();
    const std::vector<Request> requests = late_requests(seed);
    EngineRunner on_host(*model, host());
    EngineRunner on_device(*model, options);
    const auto want = results_of(on_host, with_adapters(on_host, requests));
    const auto got = results_of(on_device, with_adapters(on_device, requests));
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], want[i]) << i;
    EXPECT_FALSE(on_device.engine().has_failed());
  }

 private:
  static RunnerOptions with_small_pool(RunnerOptions options) {
    options.pool_sequences = 2;
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Depths, LateEngine,
                         ::testing::Values(LateCase{1, false}, LateCase{1, true},
                                           LateCase{2, false}, LateCase{2, true}));

TEST_P(LateEngine, GivesTheResultsOfTheHost) {
  std::int64_t preemptions = 0;
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(two_layers(model), 1);
    const std::vector<Request> requests = late_requests(7);
    EngineRunner on_host(*checkpoint, host());
    EngineRunner on_device(*checkpoint, device());
    on_device.engine().prepare();
    const auto want = results_of(on_host, requests);
    const auto got = results_of(on_device, requests);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], want[i]) << i;
    preemptions += on_device.engine().scheduler().preemptions();
  }
  EXPECT_GT(preemptions, 0) << "the pool is too large";
}

/// Every seventh wait fails. At depth 2 the failed step often continues a token of the step before.
TEST_P(LateEngine, StepsThatFailLateAreRunAgainAndChangeNothing) {
  for (const bool completes : {false, true}) {
    RunnerOptions options = device();
    int failures = 0;
    options.late_options.completes_at_drain = completes;
    options.late_options.on_wait = [&](int call) {
      if (call % 7 != 3) return;
      ++failures;
      lose_device();
    };
    expect_host_results(options, 11);
    EXPECT_GT(failures, 3);
  }
}

/// With room for all sequences, so that a step draws for many requests.
TEST_P(LateEngine, AStepThatFailsToBeginIsBegunAgain) {
  RunnerOptions options = device();
  options.pool_sequences = options.sequences;
  int failures = 0;
  options.late_options.on_step = [&](int call, const Batch&) {
    if (call % 5 != 2) return;
    ++failures;
    lose_device();
  };
  expect_host_results(options, 12);
  EXPECT_GT(failures, 3);
}

/// The blocks of cancelled requests go to others, but not while a step writes to them.
TEST_P(LateEngine, CancelledRequestsDisturbNoOther) {
  const auto model = late_checkpoint();
  const std::vector<Request> requests = late_requests(13);
  EngineRunner on_host(*model, host());
  const auto want = results_of(on_host, requests);
  EngineRunner runner(*model, device());
  std::vector<Stream> streams;
  for (const Request& r : requests) streams.push_back(*runner.engine().submit(Request(r)));
  std::vector<Collected> all(streams.size());
  int tick = 0;
  for (bool more = true; more; ++tick) {
    more = runner.engine().step();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      while (const auto delta = streams[i].try_next()) all[i].add(*delta);
      if (i % 3 == 0 && tick == static_cast<int>(3 + 2 * i)) streams[i].cancel();
    }
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (i % 3 == 0) continue;
    EXPECT_EQ(describe(all[i], streams[i].outcome()), want[i].text) << i;
  }
  runner.engine().step();  // ends a step that began before the last request ended
  EXPECT_EQ(runner.blocks_in_use(), 0);
}

/// The device draws no token of one row, and the next step, which continues this row, is run again.
TEST(LateRetry, ARowWithoutATokenIsContinuedByTheStepThatIsRunAgain) {
  constexpr std::uint64_t kLost = 77;  // seed of the request whose fourth token is missing
  std::vector<Request> requests;
  for (std::int32_t i = 0; i < 4; ++i) {
    Request request{.prompt = {5, 1 + i, 8}, .max_tokens = 12};
    request.sampling.temperature = 0.9f;
    request.sampling.seed = kLost - 1 + static_cast<std::uint64_t>(i);
    requests.push_back(std::move(request));
  }
  RunnerOptions options = late_options({.depth = 2, .draws = true});
  bool is_lost = false, is_continued = false, has_failed = false;
  options.late_options.draw = [&, draw = late_draw()](const LateDraw& row) {
    if (row.row.seed != kLost) return draw(row);
    is_continued = is_continued || (has_failed && row.row.index == 4);
    if (row.row.index != 3) return draw(row);
    is_lost = true;
    return kNoToken;
  };
  options.late_options.on_wait = [&](int) {
    if (!is_lost || has_failed) return;
    has_failed = true;
    lose_device();
  };
  const auto model = late_checkpoint();
  EngineRunner on_host(*model, host_options());
  EngineRunner on_device(*model, options);
  const auto want = results_of(on_host, requests);
  const auto got = results_of(on_device, requests);
  EXPECT_TRUE(is_continued);
  EXPECT_NE(got[1].error.find("the logits after 6 tokens"), std::string::npos) << got[1].error;
  for (const std::size_t i : {0U, 2U, 3U}) EXPECT_EQ(got[i], want[i]) << i;
  EXPECT_FALSE(on_device.engine().has_failed());
  EXPECT_EQ(on_device.blocks_in_use(), 0);
}

/// The request is cancelled while the second of its steps is under way, and this step fails.
TEST(LateRetry, EmbeddingsOfARequestThatIsGoneAreNotRead) {
  const auto model = late_checkpoint();
  const Request text{.prompt = {5, 1, 8}, .max_tokens = 20};
  EngineRunner on_host(*model, host_options());
  const std::string want = run_alone(on_host, text);
  const std::int64_t hidden = on_host.model().spec().hidden;
  constexpr std::int64_t kGiven = 48;

  const auto address_of = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
  std::uintptr_t given = 0;  // address of the request's first row
  int chunks = 0, failures = 0;
  bool is_gone = false;
  RunnerOptions options = late_options({.depth = 2, .draws = true});
  options.rows = 16;
  options.late_options.on_step = [&](int, const Batch& batch) {
    for (const View& rows : batch.embeddings) {
      if (!rows) continue;
      if (!is_gone && chunks++ == 0) given = address_of(rows.data);
      const auto bytes = static_cast<std::uintptr_t>(kGiven * hidden) * sizeof(float);
      const bool is_freed = is_gone && address_of(rows.data) - given < bytes;
      EXPECT_FALSE(is_freed) << "rows of a request that is gone";
    }
  };
  options.late_options.on_wait = [&](int) {
    if (!is_gone || failures > 0) return;
    ++failures;
    lose_device();
  };
  EngineRunner runner(*model, options);
  Engine& engine = runner.engine();
  Stream kept = *engine.submit(Request(text));
  Request rows{.max_tokens = 4};
  append_embeddings(rows, std::vector<float>(static_cast<std::size_t>(kGiven * hidden), 0.25f),
                    hidden);
  rows.prompt.push_back(1);
  Stream gone = *engine.submit(std::move(rows));
  while (chunks < 2) ASSERT_TRUE(engine.step());
  gone.cancel();
  is_gone = true;
  while (engine.step()) continue;
  Collected got;
  while (const auto delta = kept.try_next()) got.add(*delta);
  EXPECT_EQ(describe(got, kept.outcome()), want);
  EXPECT_EQ(gone.outcome().finish, FinishReason::kCancelled);
  EXPECT_EQ(chunks, 2);
  EXPECT_EQ(failures, 1);
  EXPECT_FALSE(engine.has_failed());
  EXPECT_EQ(runner.blocks_in_use(), 0);
}

/// Without an engine, no call runs the failed step again.
TEST(LateRetry, AStepAfterAFailedOneGivesItsOwnRows) {
  const auto model = late_checkpoint();
  const std::vector<std::int32_t> prompt{3, 1, 4, 1, 5, 9, 2, 6};
  ModelRunner on_host(*model, host_options());
  const std::vector<float> want = on_host.run({prompt}, whole({prompt}))[0];
  for (const std::int32_t depth : {1, 2}) {
    RunnerOptions options = late_options({.depth = depth, .draws = false});
    options.late_options.on_wait = [](int call) {
      if (call == 0) lose_device();
    };
    ModelRunner on_device(*model, options);
    Executor& executor = on_device.executor();
    Sequence sequence(executor.cache());
    sequence.tokens = prompt;
    StepPart part{.sequence = &sequence, .rows = 8, .outputs = 8};
    EXPECT_THROW(static_cast<void>(run_next(executor, {&part, 1})), Error);
    EXPECT_EQ(sequence.computed, 0);
    ASSERT_TRUE(run_next(executor, {&part, 1}));
    EXPECT_EQ(sequence.computed, 8);
    std::vector<float> got;
    for (std::int64_t i = 0; i < 8; ++i) {
      const std::span<const float> row = executor.logits(i);
      got.insert(got.end(), row.begin(), row.end());
    }
    EXPECT_EQ(got, want) << depth;
  }
}

/// The step draws in `drain`, because nothing waits for it.
TEST(LateRetry, AnExecutorIsNotDestroyedBeforeItsStepHasEnded) {
  const auto model = late_checkpoint();
  int draws = 0;
  RunnerOptions options = late_options({.depth = 1, .draws = true});
  options.late_options.completes_at_drain = true;
  options.late_options.draw = [&](const LateDraw&) {
    ++draws;
    return kNoToken;
  };
  {
    ModelRunner runner(*model, options);
    Sequence sequence(runner.executor().cache());
    sequence.tokens = {3, 1, 4};
    ASSERT_TRUE(sequence.blocks.reserve(3));
    Step step;
    step.parts = {{.sequence = &sequence, .rows = 3, .outputs = 1}};
    const SamplingParams greedy;
    const SampleRow row{.params = &greedy};
    runner.executor().run(step, {&row, 1});
    EXPECT_EQ(draws, 0);
  }
  EXPECT_EQ(draws, 1);
}

}  // namespace
}  // namespace ingot::testing_support
