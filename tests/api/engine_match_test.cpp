// The public API against the executor: embedding rows in, hidden states out.
#include <thread>

#include "api/api_test_util.h"
#include "support/model_runner.h"

namespace ingot::api {
namespace {

using ingot::testing_support::ModelRunner;
using ingot::testing_support::Output;
using ingot::testing_support::whole;

class EngineMatchTest : public testing::Test {
 protected:
  std::vector<float> embed(const std::vector<std::int32_t>& ids) const {
    return embedding_rows(*checkpoint_, ids);
  }

  std::unique_ptr<Checkpoint> checkpoint_ = Checkpoint::open(INGOT_TINY_MODEL);
  std::vector<std::int32_t> ids_{1, 263, 284, 260, 270, 280, 299};
  Engine engine_{tiny_options()};
};

TEST_F(EngineMatchTest, EmbeddingRowsContinueAsTheirTokensDo) {
  Request tokens = text_request("");
  tokens.prompt = {.ids = ids_};
  const Result expected = engine_.generate(tokens);
  Request rows = tokens;
  rows.prompt = {.embeddings = embed(ids_)};
  EXPECT_EQ(engine_.generate(rows).ids, expected.ids);
  EXPECT_EQ(engine_.generate(rows).digest, expected.digest);
  rows.prompt = {.ids = {ids_.begin() + 3, ids_.end()},
                 .embeddings = embed({ids_.begin(), ids_.begin() + 3})};
  EXPECT_EQ(engine_.generate(rows).digest, expected.digest);
  rows.prompt.embeddings[5] += 1;
  EXPECT_NE(engine_.generate(rows).digest, expected.digest);
}

TEST_F(EngineMatchTest, HiddenStatesAreTheExecutorsWhileOthersRun) {
  ModelRunner judge(*checkpoint_, {});
  Stream other = engine_.submit(text_request("in an", 100));
  const auto expected = judge.run({ids_}, whole({ids_}), Output::kHiddenNormed)[0];
  const auto raw = judge.run({ids_}, whole({ids_}), Output::kHidden)[0];
  EXPECT_NE(raw, expected);
  const HiddenStates all = engine_.hidden_states({.ids = ids_}, {.all_rows = true});
  EXPECT_EQ(all.rows, std::ssize(ids_));
  EXPECT_EQ(all.cols, 64);
  EXPECT_EQ(all.values, expected);
  EXPECT_EQ(engine_.hidden_states({.ids = ids_}, {.all_rows = true, .final_norm = false}).values,
            raw);
  const HiddenStates some = engine_.hidden_states({.ids = ids_}, {.first_row = 2, .row_count = 3});
  EXPECT_EQ(some.rows, 3);
  EXPECT_EQ(some.values, std::vector<float>(expected.begin() + 2 * 64, expected.begin() + 5 * 64));
  const HiddenStates last = engine_.hidden_states({.ids = ids_});
  EXPECT_EQ(last.rows, 1);
  EXPECT_EQ(last.values, std::vector<float>(expected.end() - 64, expected.end()));
  EXPECT_EQ(engine_.hidden_states({.embeddings = embed(ids_)}, {.all_rows = true}).values,
            expected);
  EXPECT_EQ(describe(other.result()), describe(engine_.generate(text_request("in an", 100))));
}

TEST_F(EngineMatchTest, AnyThreadMayAsk) {
  const Request request = text_request("the he", 40);
  const std::string text = describe(engine_.generate(request));
  const auto states = engine_.hidden_states({.ids = ids_}, {.all_rows = true}).values;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        if (t % 2 == 0) {
          EXPECT_EQ(describe(engine_.generate(request)), text);
        } else {
          EXPECT_EQ(engine_.hidden_states({.ids = ids_}, {.all_rows = true}).values, states);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ingot::api
