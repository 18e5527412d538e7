// Models without embedding matrix or output head: rows go in, hidden states come out.
#include "api/api_test_util.h"

namespace ingot::api {
namespace {

class BackboneTest : public testing::Test {
 protected:
  static OpenOptions options(bool embedding, bool head, const char* path = INGOT_TINY_MODEL) {
    OpenOptions o = tiny_options();
    o.path = path;
    o.embedding = embedding;
    o.head = head;
    return o;
  }
  std::unique_ptr<Checkpoint> checkpoint_ = Checkpoint::open(INGOT_TINY_MODEL);
  std::vector<std::int32_t> ids_{1, 263, 284, 260, 270, 280, 299};
  std::vector<float> rows_ = embedding_rows(*checkpoint_, ids_);
  Engine whole_{tiny_options()};
};

TEST_F(BackboneTest, AFileWithoutEndsOpensWhenTheyAreNotAskedFor) {
  for (const auto& [embedding, head, tensor] :
       {std::tuple{true, false, "token_embd.weight"}, std::tuple{false, true, "output.weight"}}) {
    const std::string error =
        error_of([&] { Engine(options(embedding, head, INGOT_TINY_BACKBONE)); });
    EXPECT_EQ(error.substr(0, 2), code(ErrorCode::kModel));
    EXPECT_NE(error.find(tensor), std::string::npos) << error;
    EXPECT_NE(error.find("backbone"), std::string::npos) << error;
  }
  Engine backbone(options(false, false, INGOT_TINY_BACKBONE));
  EXPECT_EQ(backbone.info().vocab, 0);
  EXPECT_EQ(backbone.info().hidden, 64);
  const HiddenOptions all{.all_rows = true};
  const HiddenStates states = backbone.hidden_states({.embeddings = rows_}, all);
  EXPECT_EQ(states.values, whole_.hidden_states({.ids = ids_}, all).values);
  LiveSequence live = backbone.open_sequence();
  backbone.hidden_states(
      {.embeddings = {rows_.begin(), rows_.begin() + 3 * 64}, .sequence = &live});
  EXPECT_EQ(
      backbone
          .hidden_states({.embeddings = {rows_.begin() + 3 * 64, rows_.end()}, .sequence = &live})
          .values,
      std::vector<float>(states.values.end() - 64, states.values.end()));
}

TEST_F(BackboneTest, WhatAModelWithoutHeadCannotDoIsRefused) {
  Engine headless(options(true, false));
  EXPECT_EQ(headless.hidden_states({.ids = ids_}).values,
            whole_.hidden_states({.ids = ids_}).values);
  EXPECT_EQ(error_of([&] { headless.generate(text_request("the he", 4)); }),
            code(ErrorCode::kInvalid) +
                "max_tokens: 4, but the model was opened without its output head: set 0");
  Request scored = text_request("the he", 0);
  scored.prompt_logprobs = 0;
  EXPECT_EQ(error_of([&] { headless.generate(scored); }).substr(0, 17),
            code(ErrorCode::kInvalid) + "prompt_logprobs");
}

/// A talker: rows go in, each drawn token's own row is made elsewhere.
TEST_F(BackboneTest, AModelWithoutEmbeddingDrawsOneTokenAtATime) {
  Engine blind(options(false, true));
  Request request = text_request("", 1);
  request.prompt = {.embeddings = rows_};
  Request tokens = text_request("", 3);
  tokens.prompt = {.ids = ids_};
  const Result expected = whole_.generate(tokens);
  LiveSequence live = blind.open_sequence();
  request.prompt.sequence = &live;
  for (int i = 0; i < 3; ++i) {
    const Result drawn = blind.generate(request);
    ASSERT_EQ(drawn.ids.size(), 1u);
    EXPECT_EQ(drawn.ids[0], expected.ids[static_cast<std::size_t>(i)]);
    live.truncate(live.rows() - 1);
    request.prompt.embeddings = embedding_rows(*checkpoint_, drawn.ids);
  }
  EXPECT_EQ(error_of([&] { blind.generate(text_request("the he", 1)); }).substr(0, 6),
            code(ErrorCode::kInvalid) + "prom");
  request.max_tokens = 2;
  EXPECT_EQ(error_of([&] { blind.generate(request); }),
            code(ErrorCode::kInvalid) +
                "max_tokens: 2, but the model was opened without its embedding matrix: set 0 or 1");
}

}  // namespace
}  // namespace ingot::api
