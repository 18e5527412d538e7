// Live sequences: each request gives the bits of one request with all rows, whatever stayed cached.
#include <deque>
#include <map>

#include "base/full_run_test_util.h"
#include "base/text.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "runtime/live/live_rows.h"

namespace ingot::testing_support {
namespace {

/// What a request gave.
struct Given {
  std::string text;
  std::vector<float> hidden;
  bool operator==(const Given&) const = default;
};

Given run_alone_whole(EngineRunner& runner, Request request) {
  request.live = nullptr;
  Stream stream = *runner.engine().submit(std::move(request));
  Collected got;
  for (bool more = true; more;) {
    more = runner.engine().step();
    while (const auto delta = stream.try_next()) got.add(*delta);
  }
  return {describe(got, stream.outcome()), stream.outcome().hidden};
}

std::vector<float> random_rows(std::mt19937_64& rng, std::int64_t rows, std::int64_t hidden) {
  std::vector<float> values(static_cast<std::size_t>(rows * hidden));
  for (float& x : values) x = static_cast<float>(static_cast<int>(rng() % 2001) - 1000) / 1000;
  return values;
}

/// A live sequence that gets random requests, one after the other.
class LiveClient {
 public:
  LiveClient(EngineRunner& runner, EngineRunner& alone, std::uint64_t seed, int requests)
      : runner_(runner),
        alone_(alone),
        rng_(seed),
        rows_(runner.engine().open_live()),
        left_(requests) {}

  bool is_done() const { return !stream_ && left_ == 0; }
  int kept() const { return kept_; }

  /// Begins the next request, or reads from the one under way.
  void move_on() {
    if (!stream_) return begin();
    for (int n = below(3); n > 0; --n) {
      if (const auto delta = stream_->try_next()) {
        got_.add(*delta);
        rows_.add_tokens(delta->ids);
      }
    }
    if (stream_->finished()) end();
  }

 private:
  int below(int n) { return static_cast<int>(rng_() % static_cast<std::uint64_t>(n)); }

  Request next_request() {
    Request r;
    const std::int64_t hidden = runner_.model().spec().hidden;
    for (int runs = below(3); runs > 0; --runs) {
      const bool takes_embeddings = runner_.model().spec().takes_embeddings();
      if (below(3) > 0 && takes_embeddings)
        append_embeddings(r, random_rows(rng_, 1 + below(6), hidden), hidden);
      for (int n = below(5); n > 0; --n) r.prompt.push_back(below(37));
    }
    if (rows_.rows() + std::ssize(r.prompt) == 0) r.prompt = {1, 2, 3};
    r.sampling.seed = rng_();
    r.digest = true;
    if (below(2) == 0) {
      r.max_tokens = 1 + below(6);
      r.sampling.temperature = below(2) == 0 ? 0.0f : 1.0f;
      if (below(3) == 0) r.sampling.repetition_penalty = 1.3f;
      if (below(3) == 0) r.sampling.dry_multiplier = 0.8f;
    } else {
      r.hidden = r.prompt.empty() || below(2) == 0 ? HiddenRows::kLast : HiddenRows::kAll;
      r.final_norm = below(2) == 0;
    }
    return r;
  }

  void begin() {
    if (left_ == 0) return;
    if (rows_.rows() > 0 && below(6) == 0)
      rows_.truncate(1 + below(static_cast<int>(rows_.rows())));
    before_ = rows_.rows();
    request_ = next_request();
    rows_.extend(request_);
    if (rows_.rows() + request_.max_tokens > 90) {
      left_ = 0;
      return;
    }
    --left_;
    got_ = {};
    stream_.emplace(*runner_.engine().submit(Request(request_)));
  }

  void end() {
    const Outcome& outcome = stream_->outcome();
    const Given expected = run_alone_whole(alone_, request_);
    EXPECT_EQ((Given{describe(got_, outcome), outcome.hidden}), expected) << rows_.rows();
    if (before_ > 0 && outcome.cached_tokens > 0) ++kept_;
    stream_.reset();
  }

  EngineRunner& runner_;
  EngineRunner& alone_;
  std::mt19937_64 rng_;
  LiveRows rows_;
  int left_ = 0;
  int kept_ = 0;
  std::int64_t before_ = 0;
  Request request_;
  std::optional<Stream> stream_;
  Collected got_;
};

struct Totals {
  int kept = 0;
  std::int64_t preemptions = 0;
};

/// Several live sequences beside ordinary requests, in a pool that is too small for all.
void run_schedule(const RandomModel& model, std::uint64_t seed, Totals& totals) {
  std::mt19937_64 rng(seed);
  const auto below = [&](int n) { return static_cast<int>(rng() % static_cast<std::uint64_t>(n)); };
  constexpr KvType kTypes[] = {KvType::kF16, KvType::kF32, KvType::kBF16, KvType::kInt8};
  const auto checkpoint = make_checkpoint(two_layers(model), seed);
  RunnerOptions options = EngineRunner::defaults();
  options.kv_type = kTypes[below(4)];
  EngineRunner alone(*checkpoint, options);
  options.threads = 1 + below(2);
  options.sequences = 1 + below(5);
  options.rows = options.sequences + below(30);
  options.pool_sequences = 1 + below(3);
  EngineRunner shared(*checkpoint, options,
                      {.deltas_max = 2 + std::size_t(below(4)), .prefix_cache = below(4) > 0});
  {
    std::deque<LiveClient> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back(shared, alone, rng(), 12);
    std::map<int, Stream> others;
    const auto is_done = [](const LiveClient& c) { return c.is_done(); };
    for (int tick = 0; !std::all_of(clients.begin(), clients.end(), is_done); ++tick) {
      ASSERT_LT(tick, 20000) << "the requests do not get on";
      if (others.size() < 4 && below(8) == 0) {
        if (auto stream = shared.engine().submit(random_request(rng, 30, 20))) {
          others.emplace(tick, std::move(*stream));
        }
      }
      shared.engine().step();
      for (LiveClient& client : clients) client.move_on();
      for (auto at = others.begin(); at != others.end();) {
        Stream& stream = at->second;
        while (stream.try_next()) continue;
        at = stream.finished() ? others.erase(at) : std::next(at);
      }
    }
    for (const LiveClient& client : clients) totals.kept += client.kept();
    totals.preemptions += shared.engine().scheduler().preemptions();
  }
  while (shared.engine().step()) continue;
  EXPECT_EQ(shared.blocks_in_use(), 0);
  shared.engine().check_invariants();
}

TEST(LiveSequences, GiveTheBitsOfOneRequestUnderRandomSchedules) {
  Totals totals;
  std::uint64_t seed = 700;
  for (const Format format : {F32::kFormat, Q8_0::kFormat}) {
    for (const RandomModel& model : random_models(format)) {
      for (int round = random_runs(1, 20); round > 0; --round) {
        SCOPED_TRACE(cat(model.name, " seed ", ++seed));
        run_schedule(model, seed, totals);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(totals.kept, 40) << "no rows stayed";
  EXPECT_GT(totals.preemptions, 4) << "the pools were too large to test anything";
}

class LiveSequenceTest : public testing::Test {
 protected:
  /// Runs a request to its end.
  const Outcome& run(Request request) {
    stream_.emplace(*runner_.engine().submit(std::move(request)));
    while (runner_.engine().step()) continue;
    return stream_->outcome();
  }
  Request rows_request(LiveRows& live, std::int64_t rows) {
    const auto first = given_ * hidden();
    Request r{.hidden = HiddenRows::kAll};
    append_embeddings(r, {values_.begin() + first, values_.begin() + first + rows * hidden()},
                      hidden());
    given_ += rows;
    live.extend(r);
    return r;
  }
  std::int64_t hidden() { return runner_.model().spec().hidden; }

  std::unique_ptr<Checkpoint> checkpoint_ =
      make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  EngineRunner runner_{*checkpoint_};
  ModelRunner judge_{*checkpoint_, {}};
  std::mt19937_64 rng_{3};
  std::vector<float> values_ = random_rows(rng_, 80, judge_.spec().hidden);
  std::int64_t given_ = 0;
  std::optional<Stream> stream_;
};

/// Also shows that each request computes only the rows that it appends.
TEST_F(LiveSequenceTest, AppendedEmbeddingsAreOnePrefillOfAllRows) {
  LiveRows live(runner_.engine().open_live());
  std::vector<float> got;
  std::int64_t before = 0;
  for (const std::int64_t rows : {1, 1, 17, 1, 30, 2, 28}) {
    const Outcome& outcome = run(rows_request(live, rows));
    EXPECT_EQ(outcome.cached_tokens, before);
    EXPECT_EQ(outcome.computed_tokens, rows);
    got.insert(got.end(), outcome.hidden.begin(), outcome.hidden.end());
    before += rows;
  }
  EXPECT_EQ(got, judge_.run_embeddings(values_, {80}, Output::kHiddenNormed));
}

TEST_F(LiveSequenceTest, RowsAreOfferedToOthersWhenTheirMemoryIsNeeded) {
  RunnerOptions options = EngineRunner::defaults();
  options.pool_sequences = 1;
  EngineRunner small(*checkpoint_, options);
  LiveRows live(small.engine().open_live());
  const auto run_small = [&](Request request) {
    Stream stream = *small.engine().submit(std::move(request));
    while (small.engine().step()) continue;
    return stream.outcome();
  };
  run_small(rows_request(live, 40));
  EXPECT_GT(small.blocks_in_use(), 0);
  EXPECT_EQ(small.engine().scheduler().resting_sequences().size(), 1u);
  Request large{.max_tokens = 1};
  large.prompt.assign(80, 5);
  run_small(std::move(large));
  EXPECT_EQ(small.blocks_in_use(), 0);
  EXPECT_EQ(small.engine().scheduler().preemptions(), 0);
  const Outcome again = run_small(rows_request(live, 2));
  EXPECT_EQ(again.cached_tokens, 0);
  const auto all = judge_.run_embeddings({values_.begin(), values_.begin() + 42 * hidden()}, {42},
                                         Output::kHiddenNormed);
  EXPECT_EQ(again.hidden, std::vector<float>(all.begin() + 40 * hidden(), all.end()));
}

TEST_F(LiveSequenceTest, RowsGoWithTheirSequence) {
  {
    LiveRows live(runner_.engine().open_live());
    run(rows_request(live, 20));
    EXPECT_GT(runner_.blocks_in_use(), 0);
    runner_.engine().check_invariants();
  }
  EXPECT_TRUE(runner_.engine().wakes());
  EXPECT_FALSE(runner_.engine().step());
  EXPECT_EQ(runner_.blocks_in_use(), 0);
}

/// Embeddings and the rows behind them depend on values that no token tells.
TEST_F(LiveSequenceTest, RowsBehindEmbeddingsAreNeverFoundByTokens) {
  const auto make = [&](std::uint64_t seed) {
    std::mt19937_64 rng(seed);
    Request r{.max_tokens = 4, .digest = true};
    r.prompt.assign(20, 7);
    append_embeddings(r, random_rows(rng, 16, hidden()), hidden());
    r.prompt.resize(r.prompt.size() + 30, 9);
    return r;
  };
  EngineRunner alone(*checkpoint_);
  const std::string first = run_alone(alone, make(1));
  alone.engine().flush_prefixes();
  const std::string second = run_alone(alone, make(2));
  EXPECT_NE(first, second);
  EXPECT_EQ(run_alone(runner_, make(1)), first);
  EXPECT_EQ(run_alone(runner_, make(2)), second);
  EXPECT_EQ(run(make(2)).cached_tokens, 16);  // the whole blocks of tokens before the embeddings
  Request tokens{.max_tokens = 1};
  tokens.prompt.assign(20, 7);
  tokens.prompt.resize(50, 9);
  EXPECT_EQ(run(std::move(tokens)).cached_tokens, 16);
}

TEST_F(LiveSequenceTest, ARequestAfterACancelledOneStartsFromTheRowsThatWereRead) {
  LiveRows live(runner_.engine().open_live());
  Request first{.prompt = {1, 2, 3}, .max_tokens = 40};
  first.sampling.temperature = 1;
  live.extend(first);
  {
    Stream stream = *runner_.engine().submit(std::move(first));
    for (int i = 0; i < 12; ++i) runner_.engine().step();
    live.add_tokens(stream.try_next()->ids);
    stream.cancel();
    while (runner_.engine().step()) continue;
  }
  Request next{.prompt = {4, 5}, .max_tokens = 6, .digest = true};
  live.extend(next);
  Request whole = next;
  whole.live = nullptr;
  EngineRunner alone(*checkpoint_);
  EXPECT_EQ(run_alone(runner_, std::move(next)), run_alone(alone, std::move(whole)));
  EXPECT_EQ(live.rows(), 6);
}

}  // namespace
}  // namespace ingot::testing_support
