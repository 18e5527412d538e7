// Engine: requests for hidden states, beside requests for text.
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

std::vector<std::int32_t> random_ids(std::mt19937_64& rng, std::int64_t length) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(rng() % 37);
  return ids;
}

Request hidden_request(std::vector<std::int32_t> prompt, HiddenRows rows, bool final_norm) {
  return {.prompt = std::move(prompt), .hidden = rows, .final_norm = final_norm};
}

/// An engine's outcome for one request, and beside it a runner that drives the executor itself.
class HiddenStatesTest : public testing::Test {
 protected:
  /// Every row of the prompt, by the executor alone.
  std::vector<float> rows_of(const std::vector<std::int32_t>& prompt, bool final_norm) {
    return judge_.run({prompt}, whole({prompt}),
                      final_norm ? Output::kHiddenNormed : Output::kHidden)[0];
  }
  std::vector<float> expected(const Request& r) {
    std::vector<float> rows = rows_of(r.prompt, r.final_norm);
    if (r.hidden == HiddenRows::kLast) rows.erase(rows.begin(), rows.end() - hidden());
    if (r.hidden != HiddenRows::kRange) return rows;
    return {rows.begin() + r.hidden_range.first * hidden(),
            rows.begin() + r.hidden_range.end * hidden()};
  }
  std::int64_t hidden() const { return judge_.spec().hidden; }

  std::unique_ptr<EditableCheckpoint> checkpoint_ =
      make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  ModelRunner judge_{*checkpoint_, {}};
};

/// In small steps and a small pool, where sequences are preempted, and in steps that hold many.
TEST_F(HiddenStatesTest, AreThoseOfTheExecutorWhateverSharesTheSteps) {
  EngineRunner alone(*checkpoint_);
  for (const bool small : {true, false}) {
    RunnerOptions options = EngineRunner::defaults();
    options.rows = small ? 16 : 96;
    options.pool_sequences = small ? 1 : 12;
    EngineRunner runner(*checkpoint_, options);
    std::mt19937_64 rng(7);
    std::vector<Request> requests;
    std::vector<Stream> streams;
    for (int i = 0; i < 48; ++i) {
      Request request = random_request(rng, 20, 70);
      if (i % 2 == 0) {
        request = hidden_request(random_ids(rng, 1 + i * 3 % (small ? 80 : 12)),
                                 i % 4 == 0 ? HiddenRows::kAll : HiddenRows::kLast, i % 3 != 0);
        const std::int64_t length = std::ssize(request.prompt);
        if (i % 8 < 4) {
          request.hidden = HiddenRows::kRange;
          request.hidden_range.first = i % length;
          request.hidden_range.end = 1 + i % length + i * 5 % (length - i % length);
        }
      }
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
    EXPECT_EQ(runner.engine().scheduler().preemptions() > 0, small);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      const Outcome& outcome = streams[i].outcome();
      if (i % 2 == 0) {
        EXPECT_EQ(outcome.hidden, expected(requests[i])) << i;
      } else {
        EXPECT_EQ(describe(got[i], outcome), run_alone(alone, requests[i])) << i;
      }
    }
  }
}

TEST_F(HiddenStatesTest, OfEmbeddingsAreThoseOfTheirTokens) {
  const std::vector<std::int32_t> prompt{3, 1, 4, 1, 5, 9, 2, 6};
  EngineRunner runner(*checkpoint_);
  const auto table = checkpoint_->find("token_embd.weight");
  ASSERT_NE(table, nullptr);
  Request request = hidden_request({}, HiddenRows::kAll, true);
  std::vector<float> embeddings;
  for (const std::int32_t id : prompt) {
    const float* row = reinterpret_cast<const float*>(table->data) + id * hidden();
    embeddings.insert(embeddings.end(), row, row + hidden());
  }
  append_embeddings(request, std::move(embeddings), hidden());
  Stream stream = *runner.engine().submit(std::move(request));
  while (runner.engine().step()) {
  }
  EXPECT_EQ(stream.outcome().hidden, rows_of(prompt, true));
}

TEST_F(HiddenStatesTest, GoAloneAndWithinWhatIsPlanned) {
  RunnerOptions options = EngineRunner::defaults();
  EngineRunner runner(*checkpoint_, options);
  const auto refused = [&](auto change) -> std::string {
    Request request = hidden_request({1, 2, 3}, HiddenRows::kLast, true);
    change(request);
    try {
      return runner.engine().submit(std::move(request)) ? "taken" : "full";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return error.message();
    }
  };
  EXPECT_EQ(refused([](Request&) {}), "taken");
  EXPECT_EQ(refused([](Request& r) { r.max_tokens = 2; }), "hidden: max_tokens is 2, expected 0");
  EXPECT_EQ(refused([](Request& r) { r.prompt_logprobs = 0; }),
            "hidden: prompt_logprobs is asked for too");
  const auto range = [](std::int64_t first, std::int64_t end) {
    return [=](Request& r) {
      r.hidden = HiddenRows::kRange;
      r.hidden_range = {first, end};
    };
  };
  EXPECT_EQ(refused(range(1, 3)), "taken");
  EXPECT_EQ(refused(range(1, 4)), "hidden: rows [1, 4) of a prompt of 3 rows");
  EXPECT_EQ(refused(range(2, 2)), "hidden: rows [2, 2) of a prompt of 3 rows");
  EXPECT_EQ(refused(range(-1, 2)), "hidden: rows [-1, 2) of a prompt of 3 rows");
  Request all = hidden_request({1}, HiddenRows::kAll, true);
  EXPECT_THROW(check_request(all, {.vocab = 37, .ids = 37, .context = 9}), Error);
  EXPECT_NO_THROW(check_request(all, {.vocab = 37, .ids = 37, .context = 9, .hidden_all = true}));
}

TEST_F(HiddenStatesTest, ThatAreNotFiniteEndTheRequestAndNoOther) {
  checkpoint_->fill_row("token_embd.weight", 5, std::byte{0xff});
  EngineRunner runner(*checkpoint_);
  Stream bad = *runner.engine().submit(hidden_request({1, 5, 2}, HiddenRows::kAll, false));
  Stream good = *runner.engine().submit(hidden_request({1, 2}, HiddenRows::kAll, false));
  while (runner.engine().step()) {
  }
  ASSERT_TRUE(bad.outcome().error.has_value());
  EXPECT_EQ(bad.outcome().error->code(), ErrorCode::kNotFinite);
  EXPECT_EQ(good.outcome().hidden, rows_of({1, 2}, false));
}

}  // namespace
}  // namespace ingot::testing_support
