// cache_invariance: what is taken over from others changes no bit of what a request gives.
#include <map>

#include "base/full_run_test_util.h"
#include "base/text.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

/// A turn under way, and what its reader has seen.
struct Turn {
  Request request;
  std::size_t adapters = 0;  ///< list of ModelRunner::adapters
  Stream stream;
  Collected got;
  bool cancelled = false;
};

/// Drives several conversations at once, which share a small pool with strangers, by random turns:
/// the history continues or is edited, readers are slow, replies are stopped. Every turn is
/// compared with the same request on an engine that keeps nothing.
class RandomConversations {
 public:
  RandomConversations(const RandomModel& model, std::uint64_t seed)
      : rng_(seed), checkpoint_(make_checkpoint(two_layers(model), seed)) {}

  void run() {
    RunnerOptions options = EngineRunner::defaults();
    options.adapters = kAdapters;
    EngineRunner cold(*checkpoint_, options, {.prefix_cache = false});
    options.threads = 1 + below(3);
    options.sequences = 1 + below(4);
    options.rows = options.sequences + below(30);
    options.pool_sequences = 1 + below(3);
    EngineRunner shared(
        *checkpoint_, options,
        {.deltas_max = 1 + std::size_t(below(6)),
         .prefix = {.secret = {rng_(), rng_()}, .hash_bits = below(4) == 0 ? 4 : 128}});
    for (int tick = 0; started_ < kTurns || !turns_.empty(); ++tick) {
      ASSERT_LT(tick, 20000) << "the turns do not get on";
      for (std::uint64_t c = 1; c <= kConversations; ++c) {
        if (started_ < kTurns && turns_.count(c) == 0 && below(4) == 0) begin(shared, c);
      }
      shared.engine().step();
      read(cold);
    }
    preemptions_ = shared.engine().scheduler().preemptions();
  }
  std::int64_t preemptions() const { return preemptions_; }
  std::int64_t cached() const { return cached_; }

 private:
  static constexpr std::uint64_t kConversations = 3;
  static constexpr int kTurns = 12;
  static constexpr int kAdapters = 2;

  std::int32_t below(std::int32_t n) {
    return static_cast<std::int32_t>(rng_() % static_cast<std::uint64_t>(n));
  }

  /// The history so far, perhaps edited, and a message more.
  std::vector<std::int32_t> next_prompt(std::uint64_t conversation) {
    std::vector<std::int32_t> prompt = histories_[conversation];
    if (prompt.size() > 60) prompt.resize(static_cast<std::size_t>(below(20)));
    if (!prompt.empty() && below(4) == 0) {
      prompt[static_cast<std::size_t>(below(static_cast<std::int32_t>(prompt.size())))] = below(37);
    }
    for (int n = 1 + below(12); n > 0; --n) prompt.push_back(below(37));
    return prompt;
  }

  void begin(EngineRunner& runner, std::uint64_t conversation) {
    Request request = random_request(rng_, 1, 20);
    request.prompt = next_prompt(conversation);
    if (below(3) > 0) request.prompt_logprobs = -1;
    if (below(8) > 0) request.domain = {conversation, 0};
    // Mostly the conversation's own, so that something is kept; sometimes another's.
    const auto adapters =
        static_cast<std::size_t>(below(12) == 0 ? below(kAdapters + 2) : int(conversation % 3));
    request.adapters = runner.model().adapters(adapters);
    Stream stream = *runner.engine().submit(Request(request));
    turns_.emplace(conversation, Turn{std::move(request), adapters, std::move(stream), {}});
    ++started_;
  }

  void read(EngineRunner& cold) {
    for (auto at = turns_.begin(); at != turns_.end();) {
      auto& [conversation, turn] = *at;
      for (int n = below(3); n > 0; --n) {
        if (const auto delta = turn.stream.try_next()) turn.got.add(*delta);
      }
      if (below(40) == 0) {
        turn.stream.cancel();
        turn.cancelled = true;
      }
      if (!turn.stream.finished()) {
        ++at;
        continue;
      }
      compare(turn, cold);
      auto& history = histories_[conversation] = turn.request.prompt;
      history.insert(history.end(), turn.got.ids.begin(), turn.got.ids.end());
      at = turns_.erase(at);
    }
  }

  void compare(const Turn& turn, EngineRunner& cold) {
    const Outcome& outcome = turn.stream.outcome();
    EXPECT_LT(outcome.cached_tokens, outcome.prompt_tokens);
    cached_ += outcome.cached_tokens;
    Request request = turn.request;
    request.adapters = cold.model().adapters(turn.adapters);
    if (outcome.finish != FinishReason::kCancelled) {
      EXPECT_EQ(describe(turn.got, outcome), run_alone(cold, request)) << started_ << " turns";
      return;
    }
    // The tokens drawn until then are the beginning of the cold run's.
    EXPECT_TRUE(turn.cancelled);
    request.max_tokens = std::ssize(turn.got.ids);
    if (request.max_tokens == 0) return;
    Stream stream = *cold.engine().submit(std::move(request));
    while (cold.engine().step()) continue;
    Collected want;
    while (const auto delta = stream.try_next()) want.add(*delta);
    EXPECT_EQ(turn.got.ids, want.ids) << "of a turn that was stopped";
  }

  std::mt19937_64 rng_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::map<std::uint64_t, std::vector<std::int32_t>> histories_;
  std::map<std::uint64_t, Turn> turns_;
  int started_ = 0;
  std::int64_t preemptions_ = 0;
  std::int64_t cached_ = 0;
};

TEST(Conversation, EveryTurnIsACheaperColdRun) {
  const int rounds = random_runs(1, 40);
  std::uint64_t seed = 500;
  std::int64_t preemptions = 0, cached = 0;
  const Format formats[] = {F32::kFormat, Q8_0::kFormat, Q4_K::kFormat};
  for (const RandomModel& model : random_models_in_turn(formats)) {
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(cat(model.name, " seed ", ++seed));
      RandomConversations conversations(model, seed);
      conversations.run();
      if (testing::Test::HasFailure()) return;
      preemptions += conversations.preemptions();
      cached += conversations.cached();
    }
  }
  EXPECT_GT(cached, 500 * rounds) << "nothing was kept";
  EXPECT_GT(preemptions, 5 * rounds) << "the pools were too large to test anything";
}

class PrefixTest : public testing::Test {
 protected:
  /// Runs a request to its end; returns its prompt and what came.
  std::vector<std::int32_t> run(EngineRunner& runner, Request request) {
    std::vector<std::int32_t> all = request.prompt;
    Stream stream = *runner.engine().submit(std::move(request));
    while (runner.engine().step()) continue;
    while (const auto delta = stream.try_next()) {
      all.insert(all.end(), delta->ids.begin(), delta->ids.end());
    }
    outcome_ = stream.outcome();
    return all;
  }
  static std::vector<std::int32_t> some_prompt(std::int32_t length, std::int32_t first = 1) {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < length; ++i) ids.push_back((first + 5 * i) % 36);
    return ids;
  }
  std::unique_ptr<EditableCheckpoint> checkpoint_ =
      make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  EngineRunner runner_{*checkpoint_};
  Outcome outcome_;
};

TEST_F(PrefixTest, ATurnTakesOverTheFullBlocksOfTheReplyToo) {
  auto history = run(runner_, {.prompt = some_prompt(20), .max_tokens = 30});
  EXPECT_EQ(outcome_.cached_tokens, 0);
  EXPECT_EQ(outcome_.miss.reason, MissReason::kNew);
  history.push_back(6);
  run(runner_, {.prompt = history, .max_tokens = 8});
  // 49 rows of 50 were computed: the last token was drawn, but nothing came after it.
  EXPECT_EQ(outcome_.prompt_tokens, 51);
  EXPECT_EQ(outcome_.cached_tokens, 48);
  history[40] = (history[40] + 1) % 36;
  run(runner_, {.prompt = history, .max_tokens = 1});
  EXPECT_EQ(outcome_.cached_tokens, 32);
  EXPECT_EQ(outcome_.miss.reason, MissReason::kDiverged);
  EXPECT_EQ(outcome_.miss.token, 40);
}

TEST_F(PrefixTest, OfAPromptThatIsAllThereOneTokenIsComputed) {
  const Request request{.prompt = some_prompt(48), .max_tokens = 12, .digest = true};
  const std::string cold = run_alone(runner_, request);
  EXPECT_EQ(run_alone(runner_, request), cold);
  run(runner_, request);
  EXPECT_EQ(outcome_.cached_tokens, 47);
  EXPECT_EQ(outcome_.miss.reason, MissReason::kNone);
}

TEST_F(PrefixTest, DomainsShareNothing) {
  Request request{.prompt = some_prompt(48), .max_tokens = 2};
  request.domain = {1, 1};
  run(runner_, request);
  request.domain = {1, 2};
  run(runner_, request);
  EXPECT_EQ(outcome_.cached_tokens, 0);
  EXPECT_EQ(outcome_.miss.reason, MissReason::kDomain);
  run(runner_, request);
  EXPECT_EQ(outcome_.cached_tokens, 47);
  request.reads_cache = false;
  run(runner_, request);
  EXPECT_EQ(outcome_.cached_tokens, 0);
}

/// Salts only separate hits: a tenant with many salts has no larger share of the cache.
TEST_F(PrefixTest, ATenantOfManyDomainsFlushesNobody) {
  Request mine{.prompt = some_prompt(48), .max_tokens = 2};
  mine.tenant = 1;
  mine.domain = {1, 0};
  run(runner_, mine);
  for (std::uint64_t salt = 0; salt < 100; ++salt) {
    Request other{.prompt = some_prompt(40, 7), .max_tokens = 1};
    other.tenant = 2;
    other.domain = {2, salt};
    run(runner_, other);
  }
  run(runner_, mine);
  EXPECT_EQ(outcome_.cached_tokens, 47);
}

TEST_F(PrefixTest, AStoppedReplyIsThereForTheNextTurn) {
  Stream stream = *runner_.engine().submit({.prompt = some_prompt(10), .max_tokens = 50});
  std::vector<std::int32_t> history = some_prompt(10);
  while (history.size() < 20) {
    runner_.engine().step();
    while (const auto delta = stream.try_next()) {
      history.insert(history.end(), delta->ids.begin(), delta->ids.end());
    }
  }
  stream.cancel();
  EXPECT_FALSE(runner_.engine().step());
  EXPECT_EQ(stream.outcome().finish, FinishReason::kCancelled);
  run(runner_, {.prompt = history, .max_tokens = 1});
  EXPECT_EQ(outcome_.cached_tokens, 16);
}

TEST_F(PrefixTest, WithoutACacheEverythingIsComputed) {
  EngineRunner forgetful(*checkpoint_, EngineRunner::defaults(), {.prefix_cache = false});
  for (int i = 0; i < 2; ++i) {
    run(forgetful, {.prompt = some_prompt(40), .max_tokens = 2});
    EXPECT_EQ(outcome_.cached_tokens, 0);
  }
}

/// Continuations of one prompt: each what it would be alone, the prompt computed once, and no more
/// blocks held than their own tails.
TEST_F(PrefixTest, ChoicesShareThePrompt) {
  for (const std::int32_t length : {16, 40, 48, 63}) {
    for (const bool cache : {true, false}) {
      SCOPED_TRACE(cat(length, " tokens, ", cache ? "cached" : "not cached"));
      EngineRunner runner(*checkpoint_, EngineRunner::defaults(), {.prefix_cache = cache});
      Request request{.prompt = some_prompt(length), .max_tokens = 10, .digest = true};
      request.sampling.temperature = 1;
      request.sampling.seed = 5;
      request.sampling.choice = 3;
      std::vector<Stream> streams = runner.engine().submit_choices(Request(request), 4);
      ASSERT_EQ(streams.size(), 4u);
      std::int32_t most = 0;
      while (runner.engine().step()) most = std::max(most, runner.blocks_in_use());
      EXPECT_LE(most, length / 16 + 4 * 2);
      for (Stream& stream : streams) {
        Collected got;
        while (const auto delta = stream.try_next()) got.add(*delta);
        EngineRunner alone(*checkpoint_);
        EXPECT_EQ(describe(got, stream.outcome()), run_alone(alone, request));
        EXPECT_EQ(stream.outcome().cached_tokens, &stream == &streams[0] ? 0 : length - 1);
        ++request.sampling.choice;
      }
      EXPECT_EQ(runner.blocks_in_use(), 0);
    }
  }
}

TEST_F(PrefixTest, ChoicesGoOnWithoutTheFirstOne) {
  Request request{.prompt = some_prompt(60), .max_tokens = 10, .digest = true};
  std::vector<Stream> streams = runner_.engine().submit_choices(Request(request), 3);
  runner_.engine().step();
  streams[0].cancel();
  while (runner_.engine().step()) continue;
  EngineRunner alone(*checkpoint_);
  for (std::size_t i = 1; i < 3; ++i) {
    Collected got;
    while (const auto delta = streams[i].try_next()) got.add(*delta);
    request.sampling.choice = static_cast<std::uint32_t>(i);
    EXPECT_EQ(describe(got, streams[i].outcome()), run_alone(alone, request));
  }
  EXPECT_THROW(static_cast<void>(runner_.engine().submit_choices(Request(request), 0)), Error);
}

}  // namespace
}  // namespace ingot::testing_support
