// Engine: clients that go away at any moment, pools that are too small, requests that fill them.
#include <thread>

#include "base/full_run_test_util.h"
#include "base/text.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing_support {
namespace {

class EngineScenario : public ::testing::Test {
 protected:
  /// A random request, perhaps with bad words: the tokens 5, 7 behind 3, and both behind a space.
  static Request any_request(std::mt19937_64& rng, std::int64_t prompt_max,
                             std::int64_t tokens_max) {
    Request request = random_request(rng, prompt_max, tokens_max);
    if (request.sampling.seed % 2 == 0) request.sampling.bad_words = {"\x05", "\x03\x07"};
    return request;
  }
  std::string solo(const Request& request) {
    if (!alone_) {
      alone_ =
          std::make_unique<EngineRunner>(*checkpoint_, EngineRunner::defaults(),
                                         EngineOptions{.prefix_cache = false}, tokenizer_.get());
    }
    return run_alone(*alone_, request);
  }
  std::unique_ptr<EditableCheckpoint> checkpoint_ =
      make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  std::vector<std::string> warnings_;
  /// Its tokens are bytes, of which the model has the first 37.
  std::unique_ptr<Tokenizer> tokenizer_ =
      make_tokenizer(ingot::testing::byte_level_data("gpt-2", {{"t", "h"}}), warnings_);
  std::unique_ptr<EngineRunner> alone_;
};

/// Counts what was computed.
class Rows final : public EngineObserver {
 public:
  void step(const StepRecord& record) override { computed += record.rows(); }
  void token(double) override {}
  void request(const RequestRecord&) override {}
  std::int64_t computed = 0;
};

/// Streams dropped before their first step, in their prompts, after some tokens and after their
/// last, single ones and choices of one prompt, beside others that are read to their end.
TEST_F(EngineScenario, ClientsThatGoAwayLeaveNothingAndDisturbNobody) {
  for (const bool cache : {true, false}) {
    RunnerOptions options = EngineRunner::defaults();
    options.sequences = 8;
    options.pool_sequences = 3;
    EngineRunner runner(*checkpoint_, options, {.deltas_max = 4, .prefix_cache = cache},
                        tokenizer_.get());
    Engine& engine = runner.engine();
    engine.start();
    std::mt19937_64 rng(3);
    std::vector<Request> requests;
    std::vector<std::string> results(64);
    for (int i = 0; i < 64; ++i) requests.push_back(any_request(rng, 40, 30));
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 4; ++t) {
      readers.emplace_back([&] {
        for (std::size_t i = next++; i < requests.size(); i = next++) {
          Stream stream = *engine.submit(Request(requests[i]));
          results[i] = read_all(stream);
        }
      });
    }
    const int kills = is_full_run() ? 1000 : 200;
    for (int k = 0; k < kills; ++k) {
      Request request = any_request(rng, 60, 30);
      auto streams = engine.submit_choices(std::move(request), rng() % 4 == 0 ? 4 : 1);
      for (Stream& stream : streams) {
        for (std::uint64_t n = rng() % 40; n > 0 && stream.next(); --n) continue;
      }
    }
    for (std::thread& reader : readers) reader.join();
    engine.begin_drain(1000);
    EXPECT_TRUE(engine.wait_drained());
    EXPECT_EQ(engine.under_way(), 0u);
    engine.stop();
    EXPECT_EQ(runner.blocks_in_use(), 0);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(results[i], solo(requests[i])) << i;
    }
  }
}

/// Requests from one token to the whole of a pool that has room for 1.2 of the largest: all of them
/// end, as if they had been alone, at a bounded price.
TEST_F(EngineScenario, APoolThatIsTooSmallCostsTimeAndNothingElse) {
  RunnerOptions options = EngineRunner::defaults();
  options.sequences = 12;
  options.pool_sequences = 1;
  Rows rows;
  EngineRunner runner(*checkpoint_, options, {.waiting_max = 4096, .observer = &rows},
                      tokenizer_.get());
  std::mt19937_64 rng(5);
  std::vector<Request> requests;
  std::vector<Stream> streams;
  for (int i = 0; i < 200; ++i) {
    Request request = any_request(rng, 20, 76);  // the context has 96
    request.prompt_logprobs = -1;
    request.ignore_eos = true;
    request.sampling.end_ids.clear();
    requests.push_back(request);
    streams.push_back(*runner.engine().submit(std::move(request)));
  }
  std::vector<Collected> got(streams.size());
  for (bool more = true; more;) {
    more = runner.engine().step();
    for (std::size_t i = 0; i < streams.size(); ++i) {
      while (const auto delta = streams[i].try_next()) got[i].add(*delta);
    }
  }
  std::int64_t useful = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Outcome& outcome = streams[i].outcome();
    EXPECT_EQ(describe(got[i], outcome), solo(requests[i])) << i;
    EXPECT_LE(outcome.preemptions, 8);
    useful += outcome.prompt_tokens + outcome.generated_tokens - outcome.cached_tokens;
  }
  const std::int64_t preemptions = runner.engine().scheduler().preemptions();
  EXPECT_GT(preemptions, 100) << "the pool was too large to test anything";
  EXPECT_LE(rows.computed, 3 * useful) << "more than two thirds were computed again";
  EXPECT_EQ(runner.blocks_in_use(), 0);
}

TEST_F(EngineScenario, ARequestMayFillThePoolAndNotMore) {
  RunnerOptions options = EngineRunner::defaults();
  options.sequences = 2;
  options.pool_sequences = 1;  // 96 tokens
  EngineRunner runner(*checkpoint_, options, {}, tokenizer_.get());
  const auto request = [](std::int32_t prompt, std::int64_t tokens) {
    Request r{.max_tokens = tokens, .digest = true};
    for (std::int32_t i = 0; i < prompt; ++i) r.prompt.push_back((1 + 5 * i) % 36);
    return r;
  };
  for (const auto& [prompt, tokens] : {std::pair{90, 6}, {80, 16}, {95, 1}, {64, 16}}) {
    EXPECT_EQ(run_alone(runner, request(prompt, tokens)), solo(request(prompt, tokens)));
  }
  EXPECT_THROW(static_cast<void>(runner.engine().submit(request(97, 1))), Error);
}

}  // namespace
}  // namespace ingot::testing_support
