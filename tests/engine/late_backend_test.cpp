// Engines on a device that computes steps later give the results of engines on the host.
#include "base/error.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

struct LateResult {
  std::string text;  ///< as `describe` writes it
  std::vector<float> hidden;

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
    results.push_back({describe(all[i], outcome), outcome.hidden});
  }
  return results;
}

/// Requests of all kinds: the host must draw for those of random_request. A device can draw for the
/// others, greedily or at random, with and without stop tokens, biases and allowed ids.
std::vector<Request> mixed_requests(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<Request> requests;
  for (int i = 0; i < 16; ++i) {
    Request request = random_request(rng, 20, 60);
    if (i % 4 == 0) {
      request = {.prompt = request.prompt, .hidden = HiddenRows::kAll};
    } else if (i % 4 != 1) {
      SamplingParams sampling;
      sampling.temperature = i % 8 < 4 ? 0.0f : 0.9f;
      sampling.seed = rng();
      sampling.logprobs = i % 3 == 0 ? 2 : -1;
      if (i % 3 == 1) sampling.end_ids = {3, 11, 30};
      if (i % 5 == 1) sampling.min_tokens = 4;
      if (i % 5 == 2) sampling.top_k = 12;
      if (i % 5 == 3) sampling.top_p = 0.7f;
      if (i % 7 == 3) sampling.logit_bias = {{.id = 5, .bias = 2}, {.id = 9, .bias = kBan}};
      request = {.prompt = request.prompt, .sampling = sampling, .max_tokens = request.max_tokens};
    }
    requests.push_back(request);
  }
  return requests;
}

struct LateCase {
  std::int32_t depth = 1;
  bool draws = false;
};

/// A pool for few sequences, so that some are preempted, share prefixes and copy blocks.
class LateEngine : public ::testing::TestWithParam<LateCase> {
 protected:
  static RunnerOptions host() {
    RunnerOptions options = EngineRunner::defaults();
    options.pool_sequences = 3;
    options.late = 0;
    return options;
  }
  static RunnerOptions device() {
    RunnerOptions options = host();
    options.late = GetParam().depth;
    options.late_draws = GetParam().draws;
    return options;
  }
  static std::unique_ptr<EditableCheckpoint> checkpoint() {
    return make_checkpoint(two_layers(random_models(Q8_0::kFormat)[1]), 1);
  }
  static void expect_host_results(const RunnerOptions& options, std::uint64_t seed) {
    const auto model = checkpoint();
    const std::vector<Request> requests = mixed_requests(seed);
    EngineRunner on_host(*model, host());
    EngineRunner on_device(*model, options);
    const auto want = results_of(on_host, requests);
    const auto got = results_of(on_device, requests);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], want[i]) << i;
    EXPECT_FALSE(on_device.engine().has_failed());
  }
};

INSTANTIATE_TEST_SUITE_P(Depths, LateEngine,
                         ::testing::Values(LateCase{1, false}, LateCase{1, true},
                                           LateCase{2, false}, LateCase{2, true}));

TEST_P(LateEngine, GivesTheResultsOfTheHost) {
  for (const RandomModel& model : random_models(Q8_0::kFormat)) {
    SCOPED_TRACE(model.name);
    const auto checkpoint = make_checkpoint(two_layers(model), 1);
    const std::vector<Request> requests = mixed_requests(7);
    EngineRunner on_host(*checkpoint, host());
    EngineRunner on_device(*checkpoint, device());
    on_device.engine().prepare();
    const auto want = results_of(on_host, requests);
    const auto got = results_of(on_device, requests);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i], want[i]) << i;
    EXPECT_GT(on_device.engine().scheduler().preemptions(), 0) << "the pool is too large";
  }
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
      throw Error(ErrorCode::kInternal, "the device was lost");
    };
    expect_host_results(options, 11);
    EXPECT_GT(failures, 3);
  }
}

TEST_P(LateEngine, AStepThatFailsToBeginIsBegunAgain) {
  RunnerOptions options = device();
  int failures = 0;
  options.late_options.on_step = [&](int call) {
    if (call % 5 != 2) return;
    ++failures;
    throw Error(ErrorCode::kInternal, "the launch was refused");
  };
  expect_host_results(options, 12);
  EXPECT_GT(failures, 3);
}

/// The blocks of cancelled requests go to others, but not while a step writes to them.
TEST_P(LateEngine, CancelledRequestsDisturbNoOther) {
  const auto model = checkpoint();
  const std::vector<Request> requests = mixed_requests(13);
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
  EXPECT_EQ(runner.blocks_in_use(), 0);
}

}  // namespace
}  // namespace ingot::testing_support
