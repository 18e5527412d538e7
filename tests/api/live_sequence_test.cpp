// Live sequences of the public API: appended prompts, drawn tokens, hidden states.
#include "api/api_test_util.h"

namespace ingot::api {
namespace {

class LiveSequenceTest : public testing::TestWithParam<bool> {
 protected:
  LiveSequenceTest() {
    OpenOptions options = tiny_options();
    options.threadless = GetParam();
    options.step_rows = 16;
    engine_.emplace(options);
  }
  std::vector<float> embed(std::size_t first, std::size_t count) const {
    const auto from = ids_.begin() + static_cast<std::ptrdiff_t>(first);
    return embedding_rows(*checkpoint_, {from, from + static_cast<std::ptrdiff_t>(count)});
  }
  Request ids_request(std::vector<std::int32_t> ids, std::int64_t tokens) {
    Request request = text_request("", tokens);
    request.prompt = {.ids = std::move(ids)};
    return request;
  }

  std::unique_ptr<Checkpoint> checkpoint_ = Checkpoint::open(INGOT_TINY_MODEL);
  std::vector<std::int32_t> ids_{1,   263, 284, 260, 270, 280, 299, 265, 271, 290,
                                 291, 264, 288, 274, 290, 266, 300, 301, 269, 277};
  std::optional<Engine> engine_;
  Engine judge_{tiny_options()};
};

INSTANTIATE_TEST_SUITE_P(, LiveSequenceTest, testing::Bool(), [](const auto& threadless) {
  return threadless.param ? "WithoutThread" : "WithThread";
});

TEST_P(LiveSequenceTest, SeveralPrefillsOfEmbeddingsThenTokensThenEmbeddings) {
  const auto states = judge_.hidden_states({.ids = ids_}, {.all_rows = true}).values;
  LiveSequence live = engine_->open_sequence();
  Stream other = engine_->submit(text_request("in an", 60));
  std::vector<float> got;
  std::size_t rows = 0;
  for (const std::size_t count : {std::size_t{1}, std::size_t{1}, std::size_t{7}, std::size_t{3}}) {
    const Prompt prompt{.embeddings = embed(rows, count), .sequence = &live};
    const HiddenStates part = engine_->hidden_states(prompt, {.all_rows = true});
    got.insert(got.end(), part.values.begin(), part.values.end());
    rows += count;
    EXPECT_EQ(live.rows(), static_cast<std::int64_t>(rows));
  }
  EXPECT_EQ(got, std::vector<float>(states.begin(), states.begin() + std::ssize(got)));

  // Without a prompt, the next request continues the rows that are there.
  Request request = ids_request({}, 4);
  request.prompt.sequence = &live;
  const Result drawn = engine_->generate(request);
  std::vector<std::int32_t> all(ids_.begin(), ids_.begin() + 12);
  EXPECT_EQ(drawn.digest, judge_.generate(ids_request(all, 4)).digest);
  EXPECT_EQ(drawn.prompt_ids, std::vector<std::int32_t>{});
  EXPECT_EQ(live.rows(), 12 + std::ssize(drawn.ids));

  all.insert(all.end(), drawn.ids.begin(), drawn.ids.end());
  all.insert(all.end(), ids_.begin() + 12, ids_.end());
  request = ids_request({ids_.begin() + 15, ids_.end()}, 6);
  request.prompt.embeddings = embed(12, 3);
  request.prompt.sequence = &live;
  const Result end = engine_->generate(request);
  const Result expected = judge_.generate(ids_request(all, 6));
  EXPECT_EQ(end.ids, expected.ids);
  EXPECT_EQ(end.digest, expected.digest);
  EXPECT_EQ(end.prompt_ids, request.prompt.ids);
  EXPECT_GE(end.cached_tokens, 15);
  EXPECT_EQ(describe(other.result()), describe(judge_.generate(text_request("in an", 60))));
}

TEST_P(LiveSequenceTest, ScoresAndHiddenStatesAreThoseOfTheAppendedRows) {
  LiveSequence live = engine_->open_sequence();
  engine_->hidden_states({.ids = {ids_.begin(), ids_.begin() + 5}, .sequence = &live});
  const auto states = judge_.hidden_states({.ids = ids_}, {.all_rows = true, .final_norm = false});
  const HiddenStates some =
      engine_->hidden_states({.ids = {ids_.begin() + 5, ids_.begin() + 12}, .sequence = &live},
                             {.final_norm = false, .first_row = 2, .row_count = 4});
  EXPECT_EQ(some.values,
            std::vector<float>(states.values.begin() + 7 * 64, states.values.begin() + 11 * 64));
  Request request = ids_request({ids_.begin() + 12, ids_.end()}, 1);
  request.prompt.sequence = &live;
  request.prompt_logprobs = 2;
  Request whole = ids_request(ids_, 1);
  whole.prompt_logprobs = 2;
  Result got, expected;
  got.prompt_logprobs = engine_->generate(request).prompt_logprobs;
  expected.prompt_logprobs = judge_.generate(whole).prompt_logprobs;
  auto& scores = expected.prompt_logprobs;
  scores.erase(scores.begin(), scores.begin() + 11);
  EXPECT_EQ(got.prompt_logprobs.size(), ids_.size() - 12);
  EXPECT_EQ(describe(got), describe(expected));
}

TEST_P(LiveSequenceTest, ADroppedStreamLeavesWhatWasReadOfIt) {
  LiveSequence live = engine_->open_sequence();
  Request request = text_request("the he", 40);
  request.prompt.sequence = &live;
  std::vector<std::int32_t> all;
  {
    Stream stream = engine_->submit(request);
    EXPECT_EQ(error_of([&] { engine_->submit(request); }).substr(0, 12),
              code(ErrorCode::kInvalid) + "sequence: ");
    EXPECT_EQ(error_of([&] { live.truncate(0); }).substr(0, 12),
              code(ErrorCode::kInvalid) + "sequence: ");
    all = engine_->encode("the he");
    EXPECT_EQ(live.rows(), std::ssize(all));
    for (int i = 0; i < 3; ++i) {
      const Delta delta = *stream.next();
      all.insert(all.end(), delta.ids.begin(), delta.ids.end());
    }
    EXPECT_EQ(live.rows(), std::ssize(all));
  }
  request = text_request("nd", 6);
  request.prompt.sequence = &live;
  const Result result = engine_->generate(request);
  const auto more = engine_->encode("nd", {.add_special = false});
  EXPECT_EQ(result.prompt_ids, more);
  all.insert(all.end(), more.begin(), more.end());
  EXPECT_EQ(result.digest, judge_.generate(ids_request(all, 6)).digest);
}

TEST_P(LiveSequenceTest, TruncatedRowsAreComputedAgain) {
  LiveSequence live = engine_->open_sequence();
  engine_->hidden_states({.embeddings = embed(0, 10), .sequence = &live});
  live.truncate(4);
  EXPECT_EQ(live.rows(), 4);
  const HiddenStates other =
      engine_->hidden_states({.embeddings = embed(12, 6), .sequence = &live}, {.all_rows = true});
  std::vector<std::int32_t> all(ids_.begin(), ids_.begin() + 4);
  all.insert(all.end(), ids_.begin() + 12, ids_.begin() + 18);
  const auto states = judge_.hidden_states({.ids = all}, {.all_rows = true}).values;
  EXPECT_EQ(other.values, std::vector<float>(states.begin() + 4 * 64, states.end()));
  EXPECT_EQ(error_of([&] { live.truncate(11); }),
            code(ErrorCode::kInvalid) + "rows: 11 is not in [0, 10]");
  EXPECT_EQ(error_of([&] { live.truncate(-1); }),
            code(ErrorCode::kInvalid) + "rows: -1 is not in [0, 10]");
}

TEST_P(LiveSequenceTest, ARefusedRequestAppendsNothing) {
  LiveSequence live = engine_->open_sequence();
  engine_->hidden_states({.ids = ids_, .sequence = &live});
  const auto refused = [&](auto change) {
    Request request = ids_request({5}, 1);
    request.prompt.sequence = &live;
    change(request);
    const std::string error = error_of([&] { engine_->submit(request); });
    EXPECT_EQ(live.rows(), std::ssize(ids_));
    return error;
  };
  EXPECT_EQ(
      refused([](Request& r) {
        r.prompt.ids = {5, 320};
      }),
      code(ErrorCode::kInvalid) + "prompt_ids[21] is token 320, possible are tokens from 0 to 319");
  EXPECT_EQ(refused([](Request& r) { r.prompt.embeddings.resize(65); }).substr(0, 13),
            code(ErrorCode::kInvalid) + "embeddings:");
  EXPECT_EQ(refused([](Request& r) { r.prompt.ids.assign(120, 5); }).substr(0, 8),
            code(ErrorCode::kInvalid) + "prompt");
  Request twice = ids_request({5}, 1);
  twice.prompt.sequence = &live;
  EXPECT_EQ(error_of([&] { engine_->submit_choices(twice, 2); }).substr(0, 6),
            code(ErrorCode::kInvalid) + "n: 2");
  EXPECT_EQ(live.rows(), std::ssize(ids_));
  EXPECT_EQ(
      error_of([&] { engine_->hidden_states({.ids = {5}, .sequence = &live}, {.row_count = 2}); }),
      code(ErrorCode::kInvalid) + "row_count: rows 0 to 2 of a prompt of 1 rows");
  EXPECT_EQ(live.rows(), std::ssize(ids_));
}

TEST_P(LiveSequenceTest, AnotherEngineRefusesIt) {
  LiveSequence live = engine_->open_sequence();
  engine_->hidden_states({.ids = ids_, .sequence = &live});
  Request request = ids_request({5}, 1);
  request.prompt.sequence = &live;
  const std::string refused = code(ErrorCode::kInvalid) + "sequence: another engine opened it";
  const auto beginning = [&](const std::string& error) { return error.substr(0, refused.size()); };
  EXPECT_EQ(beginning(error_of([&] { judge_.submit(request); })), refused);
  EXPECT_EQ(beginning(error_of([&] { judge_.hidden_states({.ids = {5}, .sequence = &live}); })),
            refused);
  EXPECT_TRUE(judge_.generate_all({&request, 1})[0].error.has_value());
  EXPECT_EQ(live.rows(), std::ssize(ids_));
  // The engine itself takes it, also under another name.
  Engine moved(std::move(*engine_));
  EXPECT_EQ(moved.generate(request).finish, FinishReason::kLength);
  // A new engine is another one, whether the old one is there or not.
  engine_.reset();
  moved = Engine(tiny_options());
  EXPECT_EQ(beginning(error_of([&] { moved.submit(request); })), refused);
}

TEST_P(LiveSequenceTest, OutlivesTheEngine) {
  LiveSequence live = engine_->open_sequence();
  Request request = text_request("the he", 40);
  request.prompt.sequence = &live;
  std::optional<Stream> stream(engine_->submit(request));
  engine_.reset();
  EXPECT_EQ(stream->result().finish, FinishReason::kCancelled);
  EXPECT_GT(live.rows(), 0);
}

}  // namespace
}  // namespace ingot::api
