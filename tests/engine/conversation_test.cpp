// Conversations: a turn that goes on from the one before gives the bits of a cold run, whatever
// happened to its keys and values in between.
#include <map>

#include "base/text.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

/// A turn under way, and what its reader has seen.
struct Turn {
  Request request;
  Stream stream;
  Collected got;
  bool cancelled = false;
};

/// Drives several conversations at once, which share a small pool with strangers, by random turns:
/// the history goes on or is edited, readers are slow, replies are stopped. Every turn is compared
/// with the same request on an engine that keeps nothing.
class RandomConversations {
 public:
  RandomConversations(const RandomModel& model, std::uint64_t seed)
      : rng_(seed), checkpoint_(make_checkpoint(two_layers(model), seed)) {}

  void run() {
    EngineRunner cold(*checkpoint_);
    RunnerOptions options = EngineRunner::defaults();
    options.threads = 1 + below(3);
    options.sequences = 1 + below(4);
    options.rows = options.sequences + below(30);
    options.pool_sequences = 1 + below(3);
    EngineRunner shared(
        *checkpoint_, options,
        {.deltas_max = 1 + std::size_t(below(6)), .conversations_max = std::size_t(1 + below(4))});
    for (int tick = 0; started_ < kTurns || !turns_.empty(); ++tick) {
      ASSERT_LT(tick, 20000) << "the turns do not get on";
      for (std::uint64_t c = 1; c <= kConversations; ++c) {
        if (started_ < kTurns && turns_.count(c) == 0 && below(4) == 0) begin(shared.engine(), c);
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

  void begin(Engine& engine, std::uint64_t conversation) {
    Request request = random_request(rng_, 1, 20);
    request.prompt = next_prompt(conversation);
    if (below(3) > 0) request.prompt_logprobs = -1;
    request.conversation = below(8) == 0 ? 0 : conversation;
    Stream stream = *engine.submit(Request(request));
    turns_.emplace(conversation, Turn{std::move(request), std::move(stream), {}});
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
    request.conversation = 0;
    if (outcome.finish != FinishReason::kCancelled) {
      EXPECT_EQ(describe(turn.got, outcome), run_alone(cold, request)) << started_ << " turns";
      return;
    }
    // What was drawn until then is the beginning of what the cold run draws.
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
  const int rounds = std::getenv("INGOT_FULL") != nullptr ? 40 : 1;
  std::uint64_t seed = 500;
  std::int64_t preemptions = 0, cached = 0;
  for (const Format format : {F32::kFormat, Q8_0::kFormat, Q4_K::kFormat}) {
    for (const RandomModel& model : random_models(format)) {
      for (int round = 0; round < rounds; ++round) {
        SCOPED_TRACE(cat(model.name, " seed ", ++seed));
        RandomConversations conversations(model, seed);
        conversations.run();
        if (testing::Test::HasFailure()) return;
        preemptions += conversations.preemptions();
        cached += conversations.cached();
      }
    }
  }
  EXPECT_GT(cached, 500 * rounds) << "nothing was kept";
  EXPECT_GT(preemptions, 5 * rounds) << "the pools were too large to test anything";
}

class ConversationTest : public testing::Test {
 protected:
  /// A turn of conversation 1, run to its end; returns ids with prompt before them.
  std::vector<std::int32_t> turn(std::vector<std::int32_t> prompt, std::int64_t tokens) {
    Stream stream = *runner_.engine().submit(
        {.prompt = prompt, .max_tokens = tokens, .digest = true, .conversation = 1});
    while (runner_.engine().step()) continue;
    while (const auto delta = stream.try_next()) {
      prompt.insert(prompt.end(), delta->ids.begin(), delta->ids.end());
    }
    outcome_ = stream.outcome();
    return prompt;
  }
  std::unique_ptr<EditableCheckpoint> checkpoint_ =
      make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  EngineRunner runner_{*checkpoint_};
  Outcome outcome_;
};

TEST_F(ConversationTest, ATurnComputesWhatIsNewAndTheLastTokenBeforeIt) {
  auto history = turn({1, 2, 3, 4, 5}, 8);
  EXPECT_EQ(outcome_.cached_tokens, 0);
  history.push_back(6);
  history = turn(history, 8);
  // The last token of the reply has been drawn, but nothing came after it.
  EXPECT_EQ(outcome_.prompt_tokens, 14);
  EXPECT_EQ(outcome_.cached_tokens, 12);
  history.resize(9);
  turn(history, 1);
  EXPECT_EQ(outcome_.cached_tokens, 8);
}

TEST_F(ConversationTest, AStoppedReplyIsKept) {
  const std::vector<std::int32_t> prompt{1, 2, 3, 4, 5};
  Stream stream = *runner_.engine().submit({.prompt = prompt, .max_tokens = 50, .conversation = 1});
  std::vector<std::int32_t> history = prompt;
  while (history.size() < 10) {
    runner_.engine().step();
    while (const auto delta = stream.try_next()) {
      history.insert(history.end(), delta->ids.begin(), delta->ids.end());
    }
  }
  stream.cancel();
  EXPECT_FALSE(runner_.engine().step());
  EXPECT_EQ(stream.outcome().finish, FinishReason::kCancelled);
  history.push_back(6);
  turn(history, 1);
  EXPECT_EQ(outcome_.cached_tokens, 9);
}

TEST_F(ConversationTest, AnEngineThatKeepsNothingComputesEverything) {
  EngineRunner forgetful(*checkpoint_, EngineRunner::defaults(), {.conversations_max = 0});
  for (int i = 0; i < 2; ++i) {
    Stream stream =
        *forgetful.engine().submit({.prompt = {1, 2, 3}, .max_tokens = 2, .conversation = 1});
    while (forgetful.engine().step()) continue;
    EXPECT_EQ(stream.outcome().cached_tokens, 0);
    EXPECT_EQ(forgetful.blocks_in_use(), 0);
  }
}

}  // namespace
}  // namespace ingot::testing_support
