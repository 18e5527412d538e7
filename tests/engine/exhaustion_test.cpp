// A pool of 1.2 of the largest request and a burst of 200: all end, soon enough, with their bits.
#include "base/text.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

constexpr int kRequests = 200;
constexpr std::int64_t kTokensMax = 160;              ///< the largest request, with its prompt
constexpr std::int64_t kPool = kTokensMax * 12 / 10;  ///< tokens

/// Counts steps and rows.
class Counter final : public EngineObserver {
 public:
  void step(const StepRecord& r) override {
    ++steps_;
    rows_ += r.rows();
  }
  void token(double) override {}
  void request(const RequestRecord&) override {}
  std::int64_t steps() const { return steps_; }
  std::int64_t rows() const { return rows_; }

 private:
  std::int64_t steps_ = 0;
  std::int64_t rows_ = 0;
};

/// Requests of 1 to 100 % of the largest.
std::vector<Request> mixed_requests() {
  std::mt19937_64 rng(3);
  std::vector<Request> requests;
  for (int i = 0; i < kRequests; ++i) {
    const auto size = 2 + static_cast<std::int64_t>(rng() % (kTokensMax - 1));
    // Short prompts, so that most of what they hold comes when others are there already.
    const auto drawn = std::max<std::int64_t>(1, size - 1 - static_cast<std::int64_t>(rng() % 16));
    Request r{.max_tokens = drawn, .ignore_eos = true, .digest = true};
    for (std::int64_t n = size - drawn; n > 0; --n) {
      r.prompt.push_back(static_cast<std::int32_t>(rng() % 37));
    }
    r.sampling.temperature = 1;
    r.sampling.seed = rng();
    requests.push_back(std::move(r));
  }
  return requests;
}

/// Steps that a pool which is always full needs: a request holds blocks for all its tokens so far
/// in each of the steps that draw one of its tokens.
double ideal_steps(const std::vector<Request>& requests) {
  std::int64_t held = 0;
  for (const Request& r : requests) {
    for (std::int64_t i = 0; i < r.max_tokens; ++i) {
      held += (std::ssize(r.prompt) + i + kBlockTokens - 1) / kBlockTokens;
    }
  }
  return static_cast<double>(held) / (kPool / kBlockTokens);
}

TEST(Exhaustion, ABurstBeyondThePoolEndsWithinThreeTimesTheIdeal) {
  const auto checkpoint = make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  RunnerOptions options = EngineRunner::defaults();
  options.context = kPool;
  options.draft_rows = 0;  // rows of drafts are not computed again
  EngineRunner alone(*checkpoint, options, {.prefix_cache = false});
  options.pool_sequences = 1;
  Counter counter;
  EngineRunner runner(*checkpoint, options, {.observer = &counter});
  const std::vector<Request> requests = mixed_requests();
  std::vector<Stream> streams;
  for (const Request& r : requests) streams.push_back(*runner.engine().submit(Request(r)));
  std::vector<Collected> got(streams.size());
  while (runner.engine().step()) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      while (const auto delta = streams[i].try_next()) got[i].add(*delta);
    }
  }
  std::int64_t useful = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    while (const auto delta = streams[i].try_next()) got[i].add(*delta);
    EXPECT_EQ(describe(got[i], streams[i].outcome()), run_alone(alone, requests[i])) << i;
    EXPECT_LE(streams[i].outcome().preemptions, 8);
    useful += std::ssize(requests[i].prompt) + requests[i].max_tokens - 1;
  }
  EXPECT_LE(static_cast<double>(counter.steps()), 3 * ideal_steps(requests));
  EXPECT_LE(counter.rows() - useful, 2 * useful) << "computed again";
  EXPECT_GT(runner.engine().scheduler().preemptions(), 100) << "the pool was too large";
  EXPECT_EQ(runner.blocks_in_use(), 0);
}

}  // namespace
}  // namespace ingot::testing_support
