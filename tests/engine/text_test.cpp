// Tests of a stream's text: whole characters, no part of a stop string, no loss at the end.

#include "base/text.h"
#include "base/utf8.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing_support {
namespace {

/// A model whose 259 tokens are bytes and a few merges, so that characters are often cut.
class TextTest : public ::testing::Test {
 protected:
  TextTest() {
    RandomModel model = two_layers(random_models(F32::kFormat)[2]);
    model.config.vocab = 259;
    checkpoint_ = make_checkpoint(model, 8);
    std::vector<std::string> warnings;
    tokenizer_ = make_tokenizer(
        ingot::testing::byte_level_data("gpt-2", {{"\xF0", "\x9F"}, {"\xA6", "\x99"}, {"t", "h"}}),
        warnings);
    runner_ = std::make_unique<EngineRunner>(*checkpoint_, EngineRunner::defaults(),
                                             EngineOptions{}, tokenizer_.get());
  }

  struct Result {
    std::vector<std::int32_t> ids;
    std::vector<std::string> pieces;
    std::string text;
    FinishReason finish{};
    std::int32_t stop = -1;
  };
  Result run(Request request) {
    Stream stream = *runner_->engine().submit(std::move(request));
    Result result;
    for (bool more = true; more;) {
      more = runner_->engine().step();
      while (const auto delta = stream.try_next()) {
        result.ids.insert(result.ids.end(), delta->ids.begin(), delta->ids.end());
        result.pieces.push_back(delta->text);
        result.text += delta->text;
      }
    }
    result.finish = stream.outcome().finish;
    result.stop = stream.outcome().stop;
    return result;
  }
  static Request request(std::uint64_t seed) {
    Request r{.prompt = {'a', 'b'}, .max_tokens = 40};
    r.sampling.temperature = 1;
    r.sampling.seed = seed;
    // Letters are likelier than bytes that begin nothing.
    for (std::int32_t id = 'a'; id <= 'e'; ++id) r.sampling.logit_bias.push_back({id, 3});
    for (const std::int32_t id : {0xA9, 0xC3}) r.sampling.logit_bias.push_back({id, 2.5});
    return r;
  }

  std::unique_ptr<EditableCheckpoint> checkpoint_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<EngineRunner> runner_;
};

TEST_F(TextTest, PiecesAreWholeCharactersAndTogetherTheTextOfTheIds) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Result result = run(request(seed));
    for (const std::string& piece : result.pieces) EXPECT_TRUE(is_utf8(piece));
    EXPECT_EQ(result.text, detokenize(*tokenizer_, result.ids, {.strip_leading_space = false}));
    EXPECT_EQ(result.ids.size(), 40u);
  }
}

TEST_F(TextTest, EndsBeforeAStopStringAndShowsNothingOfIt) {
  std::mt19937_64 rng(2);
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const Result free = run(request(seed));
    Request with = request(seed);
    std::string stop = "\xff";
    while (!is_utf8(stop)) {
      stop = free.text.substr(rng() % (free.text.size() - 8), 1 + rng() % 8);
    }
    with.stop = {"never this", stop};
    const Result result = run(std::move(with));
    EXPECT_EQ(result.text, free.text.substr(0, free.text.find(stop)));
    EXPECT_EQ(result.finish, FinishReason::kStop);
    EXPECT_EQ(result.stop, 1);
    EXPECT_TRUE(std::equal(result.ids.begin(), result.ids.end(), free.ids.begin()));
  }
}

/// The text ends at the first stop string whose last byte comes with token min_tokens or later.
TEST_F(TextTest, AStopStringThatEndsBeforeMinTokensIsText) {
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Result free = run(request(seed));
    ASSERT_EQ(free.pieces.size(), free.ids.size());
    for (const std::int32_t min : {1, 2, 5, 20}) {
      std::size_t early = 0;  // bytes of the tokens before token `min`
      for (std::int32_t i = 0; i + 1 < min; ++i) early += at(free.pieces, i).size();
      for (const std::string stop : {"a", "b", "de"}) {
        const std::size_t end = free.text.find(stop, early - std::min(early, stop.size() - 1));
        Request with = request(seed);
        with.sampling.min_tokens = min;
        with.stop = {stop};
        const Result result = run(std::move(with));
        EXPECT_EQ(result.text, free.text.substr(0, end)) << stop << ", " << min;
        const bool stops = end != std::string::npos;
        EXPECT_EQ(result.finish, stops ? FinishReason::kStop : FinishReason::kLength);
        if (stops) {
          EXPECT_GE(std::ssize(result.ids), min);
        }
        moved += end != free.text.find(stop) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(moved, 0);
}

TEST_F(TextTest, WhatWasHeldBackComesOutAtTheEnd) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Result free = run(request(seed));
    Request with = request(seed);
    std::size_t last = free.text.size() - 1;
    while (last > 0 && !is_utf8(free.text.substr(last))) --last;
    with.stop = {free.text.substr(last) + "and more"};
    const Result held = run(with);
    EXPECT_EQ(held.text, free.text);
    EXPECT_EQ(held.finish, FinishReason::kLength);
    EXPECT_EQ(held.stop, -1);
    // Also when a stop token ends the text.
    with.sampling.end_ids = {free.ids.back()};
    const auto end = std::find(free.ids.begin(), free.ids.end(), free.ids.back());
    const std::vector<std::int32_t> before(free.ids.begin(), end);
    EXPECT_EQ(run(with).text, detokenize(*tokenizer_, before, {.strip_leading_space = false}));
  }
}

TEST_F(TextTest, BadWordsAreNotGenerated) {
  std::string free, held;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Request with = request(seed);
    with.sampling.logit_bias.clear();
    for (std::int32_t id = 'a'; id <= 'e'; ++id) with.sampling.logit_bias.push_back({id, 20});
    free += run(with).text + "|";
    with.sampling.bad_words = {"ab", "c"};
    held += run(std::move(with)).text + "|";
  }
  for (const char* word : {"ab", "c"}) {
    EXPECT_NE(free.find(word), std::string::npos) << word;
    EXPECT_EQ(held.find(word), std::string::npos) << word;
  }
  EXPECT_NE(held.find('b'), std::string::npos) << "a part of a word is no bad word";
}

TEST_F(TextTest, OnlyAllowedTokensAreGenerated) {
  Request only = request(1);
  only.sampling.allowed_token_ids = {'e', 'a', 'e'};
  const Result result = run(std::move(only));
  EXPECT_EQ(result.text.find_first_not_of("ae"), std::string::npos) << result.text;
  EXPECT_EQ(result.ids.size(), 40u);
}

TEST_F(TextTest, FieldsThatExcludeEveryTokenAreTheRequestsError) {
  const auto message_of = [&](const SamplingParams& sampling) {
    Request none = request(1);
    none.sampling = sampling;
    Stream stream = *runner_->engine().submit(std::move(none));
    while (runner_->engine().step()) {
    }
    while (stream.try_next()) {
    }
    const std::optional<Error>& error = stream.outcome().error;
    if (!error) return std::string("no error");
    EXPECT_EQ(error->code(), ErrorCode::kInvalid);
    return error->message();
  };
  const std::int64_t ids = runner_->engine().request_limits().ids;
  SamplingParams sampling{.min_tokens = 1, .end_ids = {5}, .allowed_token_ids = {5}};
  EXPECT_EQ(message_of(sampling).find("allowed_token_ids: no token is left"), 0u);
  sampling.allowed_token_ids.clear();
  for (std::int32_t id = 0; id < ids; ++id) {
    if (id != 5) sampling.logit_bias.push_back({id, kBan});
  }
  EXPECT_EQ(message_of(sampling).find("logit_bias: no token is left"), 0u);
  sampling = {.min_tokens = 1};
  for (std::int32_t id = 0; id < ids; ++id) sampling.end_ids.push_back(id);
  EXPECT_EQ(message_of(sampling).find("min_tokens: no token is left"), 0u);
}

TEST_F(TextTest, ABreakerEndsARepetition) {
  const auto with_breakers = [&](std::vector<std::string> breakers) {
    Request r = request(2);
    r.prompt = {'a', 'b', 'a', 'b', 'a', 'b', 'a'};
    r.sampling.temperature = 0;
    r.sampling.logit_bias = {{'b', 90}, {'c', 50}};
    r.sampling.dry_multiplier = 60;
    r.sampling.dry_base = 1;
    r.sampling.dry_sequence_breakers = std::move(breakers);
    r.max_tokens = 1;
    return run(std::move(r)).text;
  };
  EXPECT_EQ(with_breakers({}), "c");
  EXPECT_EQ(with_breakers({"a"}), "b");
  EXPECT_EQ(with_breakers({"\n"}), "c");
}

TEST_F(TextTest, MirostatMovesItsLimit) {
  const auto text_with = [&](std::int32_t version, float tau, float eta, float temperature) {
    std::string text;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Request r = request(seed);
      r.sampling.mirostat = version;
      r.sampling.mirostat_tau = tau;
      r.sampling.mirostat_eta = eta;
      r.sampling.temperature = temperature;
      text += run(std::move(r)).text + "|";
    }
    return text;
  };
  const std::string plain = text_with(0, 5, 0.1f, 1);
  EXPECT_EQ(text_with(2, 0, 1, 1), text_with(0, 5, 0.1f, 0)) << "a limit of 0 bits is greedy";
  EXPECT_EQ(text_with(2, 100, 0, 1), plain) << "a limit of 200 bits drops nothing";
  EXPECT_NE(text_with(2, 1.5f, 0, 1), plain);
  EXPECT_NE(text_with(2, 1.5f, 1, 1), text_with(2, 1.5f, 0, 1)) << "the limit moves";
}

TEST_F(TextTest, MirostatContinuesNoText) {
  Request r = request(0);
  r.sampling.mirostat = 2;
  r.continued = 1;
  try {
    static_cast<void>(runner_->engine().submit(std::move(r)));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_EQ(error.message().find("mirostat: "), 0u);
  }
}

TEST_F(TextTest, AStopStaysInTheTextWhereItIsWanted) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Result free = run(request(seed));
    Request with = request(seed);
    with.include_stop = true;
    with.stop = {free.text.substr(0, 1)};
    if (is_utf8(with.stop[0])) {
      const Result stopped = run(with);
      EXPECT_EQ(stopped.text, with.stop[0]);
      EXPECT_EQ(stopped.stop, 0);
    }
    with.stop.clear();
    with.sampling.end_ids = {free.ids.back()};
    const auto end = std::find(free.ids.begin(), free.ids.end(), free.ids.back());
    const std::vector<std::int32_t> until(free.ids.begin(), end + 1);
    const Result ended = run(with);
    EXPECT_EQ(ended.text, detokenize(*tokenizer_, until, {.strip_leading_space = false}));
    EXPECT_EQ(ended.ids, std::vector<std::int32_t>(free.ids.begin(), end));
    EXPECT_EQ(ended.finish, FinishReason::kStop);
  }
}

}  // namespace
}  // namespace ingot::testing_support
