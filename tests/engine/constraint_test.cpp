// Constrained requests: their text, its end, and that neither continuation nor choices change it.
#include "base/error.h"
#include "base/text.h"
#include "engine/constraint_test_util.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "text/chat/constraint_tokens.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing_support {
namespace {

struct Reply {
  Collected got;
  Outcome outcome;
};

Reply reply_of(Engine& engine, Stream& stream) {
  Reply reply;
  for (bool more = true; more;) {
    more = engine.step();
    while (const auto delta = stream.try_next()) reply.got.add(*delta);
  }
  reply.outcome = stream.outcome();
  return reply;
}

class ConstraintTest : public ::testing::Test {
 protected:
  Reply run(Request request) {
    Stream stream = *runner_.engine().submit(std::move(request));
    return reply_of(runner_.engine(), stream);
  }
  static Request words(std::uint64_t seed, std::int64_t max_tokens = 60) {
    Request request{.prompt = {1, 2, 3}, .max_tokens = max_tokens};
    request.sampling.temperature = 1;
    request.sampling.seed = seed;
    constrain(request);
    return request;
  }
  std::string refusal(Request request) {
    try {
      static_cast<void>(runner_.engine().submit(std::move(request)));
      return "taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return error.message();
    }
  }

  std::unique_ptr<EditableCheckpoint> checkpoint_ =
      make_checkpoint(two_layers(random_models(F32::kFormat)[0]), 5);
  EngineRunner runner_{*checkpoint_};
};

TEST_F(ConstraintTest, TextsFollowItAndEndOnlyWhereTheyAreComplete) {
  int stops = 0, lengths = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Request request = words(seed, 4 + static_cast<std::int64_t>(seed % 30));
    request.sampling.temperature = seed % 3 == 0 ? 0.0f : 2.0f;
    request.sampling.top_k = seed % 5 == 0 ? 2 : 0;
    request.sampling.mirostat = seed % 7 == 0 ? 2 : 0;
    request.sampling.repetition_penalty = seed % 4 == 0 ? 1.5f : 1.0f;
    const Reply reply = run(std::move(request));
    const std::string text = word_text(reply.got.ids);
    const bool is_stop = reply.outcome.finish == FinishReason::kStop;
    ASSERT_TRUE(is_stop || reply.outcome.finish == FinishReason::kLength);
    EXPECT_NE(fit_of(text), WordsFit::kNo) << text;
    EXPECT_TRUE(!is_stop || fit_of(text) == WordsFit::kComplete) << text;
    ++(is_stop ? stops : lengths);
  }
  EXPECT_GT(stops, 5);
  EXPECT_GT(lengths, 5);
}

/// The log-probabilities are those of the unconstrained rows.
TEST_F(ConstraintTest, AForcedTextEndsWithoutAnotherDraw) {
  for (const bool ignore_eos : {false, true}) {
    Request request = words(3);
    request.constraint = literal_constraint("hello0");
    request.ignore_eos = ignore_eos;
    if (ignore_eos) request.sampling.end_ids.clear();
    request.sampling.logprobs = 1;
    const Reply reply = run(request);
    EXPECT_EQ(word_text(reply.got.ids), "hello0");
    EXPECT_EQ(reply.outcome.finish, FinishReason::kStop);
    EXPECT_EQ(reply.outcome.decode_steps, 5) << "six tokens";
    Request scored{.prompt = request.prompt, .prompt_logprobs = 1};
    scored.prompt.insert(scored.prompt.end(), reply.got.ids.begin(), reply.got.ids.end());
    const Outcome want = run(scored).outcome;
    ASSERT_EQ(reply.got.logprobs.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) {
      const TokenLogprobs& expected = want.prompt_logprobs[want.prompt_logprobs.size() - 6 + i];
      EXPECT_NEAR(reply.got.logprobs[i].token.logprob, expected.token.logprob, 1e-4) << i;
      EXPECT_EQ(reply.got.logprobs[i].top[0].id, expected.top[0].id) << i;
    }
  }
}

TEST_F(ConstraintTest, TheTokenLimitCutsATextButNotACompleteOne) {
  Request request = words(3, 5);
  request.constraint = literal_constraint("hello");
  EXPECT_EQ(run(request).outcome.finish, FinishReason::kStop);
  request.max_tokens = 4;
  const Reply cut = run(request);
  EXPECT_EQ(cut.outcome.finish, FinishReason::kLength);
  EXPECT_EQ(word_text(cut.got.ids), "hell");
}

TEST_F(ConstraintTest, TheConstraintWinsOverMinTokensAndBans) {
  Request request = words(3);
  request.constraint = literal_constraint("7");
  request.sampling.min_tokens = 5;
  EXPECT_EQ(word_text(run(request).got.ids), "7");
  request = words(4);
  request.sampling.min_tokens = 25;
  const Reply late = run(request);
  const std::string text = word_text(late.got.ids);
  EXPECT_EQ(fit_of(text), WordsFit::kComplete) << text;
  EXPECT_TRUE(late.got.ids.size() >= 25 || std::count(text.begin(), text.end(), 'z') == 7) << text;
  request = words(4);
  for (std::int32_t id = 0; id < kWordsEnd; ++id) request.sampling.logit_bias.push_back({id, kBan});
  EXPECT_EQ(word_text(run(request).got.ids), "abcdzabc") << "the lowest ids, then the end token";
}

/// A stop token that is text of an incomplete document does not end it.
TEST_F(ConstraintTest, StopTokensEndCompleteTextsOnly) {
  Request request = words(5);
  request.constraint = literal_constraint("hello");
  request.sampling.end_ids = {'e' - 'a', 'l' - 'a', kWordsEnd};
  const Reply reply = run(request);
  EXPECT_EQ(word_text(reply.got.ids), "hello");
  EXPECT_EQ(reply.outcome.finish, FinishReason::kStop);
  request.constraint = make_constraint([](Grammar& g, CompileBudget& budget) {
    return g.add(grammar::Repeat{.part = g.literal("e", budget), .count_min = 3, .count_max = 9});
  });
  for (request.sampling.seed = 0; request.sampling.seed < 5; ++request.sampling.seed) {
    EXPECT_EQ(word_text(run(request).got.ids), "eee") << "then e is an end token";
  }
}

TEST_F(ConstraintTest, AnEmptyTextEndsBeforeTheFirstStep) {
  Request request = words(5);
  request.prompt = {1, 7, 4, 11, 11, 14};
  request.continued = 5;
  request.constraint = literal_constraint("hello");
  const Reply reply = run(request);
  EXPECT_EQ(reply.got.ids.size(), 0u);
  EXPECT_EQ(reply.outcome.finish, FinishReason::kStop);
  EXPECT_EQ(reply.outcome.computed_tokens, 0);
}

TEST_F(ConstraintTest, AContinuedTextGoesOnInsideTheConstraint) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Reply whole = run(words(seed));
    for (std::size_t first = 0; first < whole.got.ids.size(); first += 3) {
      Request rest = words(seed);
      rest.prompt.insert(rest.prompt.end(), whole.got.ids.begin(),
                         whole.got.ids.begin() + static_cast<std::ptrdiff_t>(first));
      rest.continued = static_cast<std::int64_t>(first);
      const Reply reply = run(std::move(rest));
      EXPECT_EQ(reply.got.ids,
                (std::vector(whole.got.ids.begin() + static_cast<std::ptrdiff_t>(first),
                             whole.got.ids.end())));
      EXPECT_EQ(reply.outcome.finish, whole.outcome.finish);
    }
  }
}

TEST_F(ConstraintTest, EachChoiceHasItsOwnText) {
  std::vector<Stream> streams = runner_.engine().submit_choices(words(9), 4);
  std::vector<Collected> got(4);
  for (bool more = true; more;) {
    more = runner_.engine().step();
    for (std::size_t i = 0; i < 4; ++i) {
      while (const auto delta = streams[i].try_next()) got[i].add(*delta);
    }
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    Request one = words(9);
    one.sampling.choice = i;
    EXPECT_EQ(got[i].ids, run(one).got.ids) << i;
  }
  EXPECT_FALSE(got[0].ids == got[1].ids && got[0].ids == got[2].ids && got[0].ids == got[3].ids);
}

TEST_F(ConstraintTest, RefusesFieldsThatRestrictTheTokensToo) {
  Request request = words(0);
  EXPECT_EQ(refusal(request), "taken");
  request.sampling.allowed_token_ids = {1};
  EXPECT_EQ(refusal(request).find("allowed_token_ids has no meaning together with a constraint"),
            0u);
  request = words(0);
  request.continued = 2;
  EXPECT_EQ(refusal(request).find("continued: the constraint does not allow token 2 after 0"), 0u);
  request = words(0);
  request.markers = {kWordIds};
  EXPECT_EQ(refusal(request).find("markers[0] is token 37"), 0u);
  request = words(0);
  request.reasoning = {.tokens = 3, .open = true, .end = "z", .close = {25}};
  EXPECT_EQ(refusal(request).find("thinking_budget: the model has no tokenizer"), 0u);
}

/// A model of bytes and some control tokens.
class ReplyTextTest : public ::testing::Test {
 protected:
  static constexpr std::int32_t kOpen = 256, kClose = 257, kSecret = 258, kIds = 260;

  ReplyTextTest() {
    RandomModel model = two_layers(random_models(F32::kFormat)[2]);
    model.config.vocab = kIds;
    checkpoint_ = make_checkpoint(model, 8);
    std::vector<std::string> warnings;
    const auto control = TokenType::kControl;
    tokenizer_ = make_tokenizer(
        ingot::testing::byte_level_data(
            "gpt-2", {}, {{"<think>", control}, {"</think>", control}, {"<secret>", control}}),
        warnings);
    INGOT_CHECK(tokenizer_->size() == kIds, "a tokenizer of ", tokenizer_->size(), " tokens");
    runner_ = std::make_unique<EngineRunner>(*checkpoint_, EngineRunner::defaults(),
                                             EngineOptions{}, tokenizer_.get());
  }
  Reply run(Request request) {
    Stream stream = *runner_->engine().submit(std::move(request));
    return reply_of(runner_->engine(), stream);
  }
  /// A request that reasons first.
  static Request request(std::uint64_t seed, std::int64_t budget) {
    Request r{.prompt = {'a', 'b'}, .max_tokens = 30};
    r.sampling.temperature = 1;
    r.sampling.seed = seed;
    r.sampling.logit_bias = {{kClose, kBan}, {kSecret, kBan}};
    r.markers = {kOpen, kClose};
    r.reasoning = {.tokens = budget,
                   .open = true,
                   .begin = "<think>",
                   .end = "</think>",
                   .close = {'.', kClose, '\n'}};
    return r;
  }

  std::unique_ptr<EditableCheckpoint> checkpoint_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<EngineRunner> runner_;
};

TEST_F(ReplyTextTest, ABudgetClosesTheReasoningByForce) {
  const Reply free = run(request(1, -1));
  ASSERT_EQ(free.got.ids.size(), 30u);
  for (const std::int64_t budget : {0, 1, 7, 26, 29, 30, 99}) {
    const Reply reply = run(request(1, budget));
    std::vector<std::int32_t> want(free.got.ids.begin(),
                                   free.got.ids.begin() + std::min<std::ptrdiff_t>(budget, 30));
    for (const std::int32_t id : {std::int32_t{'.'}, kClose, std::int32_t{'\n'}})
      want.push_back(id);
    want.resize(std::min<std::size_t>(want.size(), 30));
    ASSERT_GE(reply.got.ids.size(), want.size());
    EXPECT_TRUE(std::equal(want.begin(), want.end(), reply.got.ids.begin())) << budget;
    EXPECT_EQ(reply.got.ids.size(), 30u);
    EXPECT_EQ(reply.got.text.find("</think>") != std::string::npos, budget + 2 <= 30) << budget;
  }
}

TEST_F(ReplyTextTest, ReasoningThatTheReplyOpensIsCountedFromItsTag) {
  Request r = request(1, 4);
  r.reasoning.open = false;
  r.sampling.logit_bias = {{kOpen, 100}, {kClose, kBan}, {kSecret, kBan}};
  const Reply reply = run(r);
  ASSERT_EQ(reply.got.ids.size(), 30u);
  EXPECT_EQ(reply.got.ids[0], kOpen);
  EXPECT_EQ(reply.got.ids[6], kClose);
  r.prompt.insert(r.prompt.end(), reply.got.ids.begin(), reply.got.ids.begin() + 6);
  r.continued = 6;
  const Reply rest = run(r);
  EXPECT_TRUE(std::equal(reply.got.ids.begin() + 6, reply.got.ids.end(), rest.got.ids.begin()));
  EXPECT_EQ(rest.got.text.substr(0, 9), "</think>\n");
}

/// The constraint is a line of letters behind the reasoning.
TEST_F(ReplyTextTest, AConstraintBeginsBehindTheReasoning) {
  const std::vector<std::string> markers{"<think>", "</think>"};
  const auto trie = make_token_trie(*tokenizer_, kIds, markers);
  Request r = request(2, 5);
  r.constraint = make_constraint(
      [](Grammar& g, CompileBudget& budget) {
        return g.sequence(
            {g.terminal(TextDfa::until("</think>", budget)), g.literal("\nyes", budget)});
      },
      trie);
  for (r.sampling.seed = 0; r.sampling.seed < 4; ++r.sampling.seed) {
    const Reply reply = run(r);
    EXPECT_EQ(reply.outcome.finish, FinishReason::kStop);
    EXPECT_GE(reply.got.ids.size(), 11u);
    EXPECT_LE(reply.got.ids.size(), 14u) << "closed behind the next whole character";
    EXPECT_TRUE(reply.got.text.ends_with(".</think>\nyes")) << reply.got.text;
  }
  r.reasoning.close = {kClose, 'n', 'o'};
  EXPECT_TRUE(run(r).got.text.ends_with("</think>\nyes")) << "it allows only this";
}

TEST_F(ReplyTextTest, MarkersAreTextAndOtherControlTokensAreNot) {
  Request r{.prompt = {'a'}, .max_tokens = 3};
  r.sampling.allowed_token_ids = {kSecret};
  EXPECT_EQ(run(r).got.text, "");
  r.markers = {kOpen, kSecret};
  EXPECT_EQ(run(r).got.text, "<secret><secret><secret>");
  r.sampling.allowed_token_ids = {kClose};
  EXPECT_EQ(run(r).got.text, "");
}

TEST_F(ReplyTextTest, RefusesBudgetsThatNothingCloses) {
  const auto refusal = [&](auto change) -> std::string {
    Request r = request(1, 3);
    change(r);
    try {
      static_cast<void>(runner_->engine().submit(std::move(r)));
      return "taken";
    } catch (const Error& error) {
      return error.message().substr(0, error.message().find(':'));
    }
  };
  EXPECT_EQ(refusal([](Request&) {}), "taken");
  EXPECT_EQ(refusal([](Request& r) { r.reasoning.tokens = -2; }), "thinking_budget");
  EXPECT_EQ(refusal([](Request& r) { r.reasoning.end.clear(); }), "thinking_budget");
  EXPECT_EQ(refusal([](Request& r) { r.reasoning.close.clear(); }), "thinking_budget");
  EXPECT_EQ(refusal([](Request& r) { r.reasoning.close = {kIds}; }).find("thinking_budget[0]"), 0u);
}

}  // namespace
}  // namespace ingot::testing_support
