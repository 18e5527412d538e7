// Tests of Engine and Stream: refusals, waiting requests, and ends.
#include "runtime/engine.h"

#include <cmath>
#include <thread>

#include "base/text.h"
#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

const RandomModel& plain_model() {
  static const RandomModel model = two_layers(random_models(F32::kFormat)[2]);
  return model;
}

std::vector<std::int32_t> some_prompt(std::int32_t length, std::int32_t first = 1) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < length; ++i) ids.push_back((first + 5 * i) % 36);
  return ids;
}

Request plain_request(std::int32_t prompt, std::int64_t tokens, std::int32_t first = 1) {
  return {.prompt = some_prompt(prompt, first), .max_tokens = tokens, .digest = true};
}

class EngineTest : public testing::Test {
 protected:
  std::string solo(const Request& request) {
    if (!alone_) alone_ = std::make_unique<EngineRunner>(*checkpoint_);
    return run_alone(*alone_, request);
  }
  std::unique_ptr<EditableCheckpoint> checkpoint_ = make_checkpoint(plain_model(), 1);
  std::unique_ptr<EngineRunner> alone_;
};

TEST_F(EngineTest, RefusesWhatIsNotPossibleAndSaysWhy) {
  RunnerOptions options = EngineRunner::defaults();
  options.pool_sequences = 1;
  EngineRunner runner(*checkpoint_, options);
  const auto refused = [&](auto change) -> std::string {
    Request request = plain_request(5, 4);
    change(request);
    try {
      return runner.engine().submit(std::move(request)) ? "taken" : "full";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return error.message();
    }
  };
  EXPECT_EQ(refused([](Request&) {}), "taken");
  const auto says = [&](std::string_view name, auto change) {
    EXPECT_EQ(refused(change).substr(0, name.size()), name);
  };
  says("prompt: it has no", [](Request& r) { r.prompt = {}; });
  says("prompt_ids[2] is token 37", [](Request& r) { r.prompt[2] = 37; });
  says("prompt_ids[0] is token -1", [](Request& r) { r.prompt[0] = -1; });
  says("prompt: it has 97", [](Request& r) { r.prompt.assign(97, 1); });
  says("prompt: it fills", [](Request& r) { r.prompt.assign(96, 1); });
  says("max_tokens", [](Request& r) { r.max_tokens = -1; });
  says("top_p", [](Request& r) { r.sampling.top_p = 1.5f; });
  says("stop:", [](Request& r) { r.stop = {"a"}; });
  says("prompt_logprobs", [](Request& r) { r.prompt_logprobs = 4; });
  says("prompt_logprobs", [](Request& r) { r.prompt_logprobs = -2; });
  says("prompt_logprobs_from", [](Request& r) { r.prompt_logprobs_from = -1; });
  says("prompt_logprobs_from", [](Request& r) { r.prompt_logprobs_from = 6; });
  const auto give = [](std::size_t values, float value, std::int64_t cols) {
    return [=](Request& r) { append_embeddings(r, std::vector<float>(values, value), cols); };
  };
  says("embeddings: rows of 128", give(256, 0.0f, 128));
  for (const auto& change : {give(255, 0.0f, 256), give(256, std::nanf(""), 256)}) {
    Request r;
    EXPECT_THROW(change(r), Error);
    EXPECT_TRUE(r.prompt.empty() && r.embeddings.empty());
  }
  says("continued: 1 ", [&](Request& r) {
    give(256, 0.0f, 256)(r);
    r.continued = 1;
  });
  says("prompt_logprobs: embed", [&](Request& r) {
    give(256, 0.0f, 256)(r);
    r.prompt_logprobs = 0;
  });
  says("prompt_ids[5] is token 3", [&](Request& r) {
    give(256, 0.0f, 256)(r);
    r.prompt.back() = 3;
  });
  EXPECT_EQ(refused([](Request& r) { r.max_tokens = std::int64_t{1} << 60; }), "taken");
}

TEST_F(EngineTest, AFullInboxGivesTheRequestBack) {
  RunnerOptions options = EngineRunner::defaults();
  options.sequences = 1;
  EngineRunner runner(*checkpoint_, options, {.waiting_max = 1});
  std::vector<Stream> streams;
  for (int i = 0; i < 2; ++i) {
    auto stream = runner.engine().submit(plain_request(3, 2));
    ASSERT_TRUE(stream.has_value());
    streams.push_back(std::move(*stream));
  }
  EXPECT_NE(streams[0].id(), streams[1].id());
  Request third = plain_request(3, 2);
  EXPECT_FALSE(runner.engine().submit(std::move(third)).has_value());
  EXPECT_EQ(third.prompt, some_prompt(3));
  while (!streams[0].finished()) {
    runner.engine().step();
    streams[0].try_next();
  }
  EXPECT_TRUE(runner.engine().submit(std::move(third)).has_value());
  runner.engine().stop();
  EXPECT_FALSE(runner.engine().submit(plain_request(3, 2)).has_value());
}

TEST_F(EngineTest, ASuccessorNeedsNoFreePlace) {
  RunnerOptions options = EngineRunner::defaults();
  options.sequences = 1;
  EngineRunner runner(*checkpoint_, options, {.waiting_max = 0});
  Engine& engine = runner.engine();
  std::vector<Stream> streams;
  streams.push_back(*engine.submit(plain_request(3, 2)));
  EXPECT_TRUE(engine.submit_choices(plain_request(3, 2), 1).empty());
  for (Stream& s : engine.submit_choices(plain_request(3, 2), 1, QueuePlace::kSuccessor)) {
    streams.push_back(std::move(s));
  }
  ASSERT_EQ(streams.size(), 2U);
  EXPECT_EQ(engine.under_way(), 2U);
  while (engine.step()) {
    for (Stream& s : streams) s.try_next();
  }
  for (Stream& s : streams) {
    while (s.try_next()) continue;
    EXPECT_TRUE(s.finished());
  }
  engine.stop();
  EXPECT_TRUE(engine.submit_choices(plain_request(3, 2), 1, QueuePlace::kSuccessor).empty());
}

TEST_F(EngineTest, ADroppedStreamsBlocksAreBackAfterTwoSteps) {
  EngineRunner runner(*checkpoint_);
  auto dropped = runner.engine().submit(plain_request(60, 30));
  auto kept = runner.engine().submit(plain_request(5, 20));
  for (int i = 0; i < 4; ++i) runner.engine().step();
  EXPECT_GE(runner.blocks_in_use(), 5);
  dropped.reset();
  runner.engine().step();
  runner.engine().step();
  EXPECT_LE(runner.blocks_in_use(), 1);
  Collected got;
  while (runner.engine().step()) {
  }
  while (const auto delta = kept->try_next()) got.add(*delta);
  EXPECT_EQ(describe(got, kept->outcome()), solo(plain_request(5, 20)));
  EXPECT_EQ(runner.blocks_in_use(), 0);
}

TEST_F(EngineTest, ACancelledStreamEndsWithWhatItHas) {
  RunnerOptions options = EngineRunner::defaults();
  options.draft_rows = 0;  // each step gives one token
  EngineRunner runner(*checkpoint_, options);
  Stream stream = *runner.engine().submit(plain_request(3, 50));
  for (int i = 0; i < 5; ++i) runner.engine().step();
  stream.cancel();
  EXPECT_FALSE(runner.engine().step());
  Collected got;
  while (const auto delta = stream.next()) got.add(*delta);
  EXPECT_EQ(got.ids.size(), 5u);
  EXPECT_EQ(stream.outcome().finish, FinishReason::kCancelled);
  EXPECT_EQ(stream.outcome().generated_tokens, 5);
}

TEST_F(EngineTest, ASlowReaderPausesOnlyItself) {
  RunnerOptions options = EngineRunner::defaults();
  for (const std::int32_t sequences : {1, 2, 12}) {
    options.sequences = sequences;
    options.pool_sequences = 1;
    EngineRunner runner(*checkpoint_, options, {.deltas_max = 2});
    std::vector<Stream> slow;
    for (std::int32_t i = 0; i < 3; ++i) {
      slow.push_back(*runner.engine().submit(plain_request(40, 12, i)));
    }
    for (int i = 0; i < 30; ++i) runner.engine().step();
    Stream quick = *runner.engine().submit(plain_request(30, 20, 9));
    Collected got;
    for (int i = 0; i < 60 && !quick.finished(); ++i) {
      runner.engine().step();
      while (const auto delta = quick.try_next()) got.add(*delta);
    }
    ASSERT_TRUE(quick.finished()) << sequences;
    EXPECT_EQ(describe(got, quick.outcome()), solo(plain_request(30, 20, 9)));
    std::vector<Collected> late(slow.size());
    for (bool more = true; more;) {
      more = runner.engine().step();
      for (std::size_t i = 0; i < slow.size(); ++i) {
        while (const auto delta = slow[i].try_next()) late[i].add(*delta);
      }
    }
    for (std::int32_t i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(describe(late[at], slow[at].outcome()), solo(plain_request(40, 12, i)));
    }
  }
}

TEST_F(EngineTest, ARowThatIsLostEndsItsRequestAlone) {
  checkpoint_->fill_row("token_embd.weight", 36, std::byte{0xff});
  EngineRunner runner(*checkpoint_);
  Request bad = plain_request(6, 20);
  bad.prompt[3] = 36;
  Stream good = *runner.engine().submit(plain_request(7, 20));
  Stream lost = *runner.engine().submit(std::move(bad));
  Collected got;
  while (runner.engine().step()) {
    while (const auto delta = good.try_next()) got.add(*delta);
  }
  while (const auto delta = good.try_next()) got.add(*delta);
  EXPECT_EQ(describe(got, good.outcome()), solo(plain_request(7, 20)));
  EXPECT_EQ(lost.next(), std::nullopt);
  EXPECT_EQ(lost.outcome().finish, FinishReason::kError);
  ASSERT_TRUE(lost.outcome().error.has_value());
  EXPECT_EQ(lost.outcome().error->code(), ErrorCode::kNotFinite);
  EXPECT_EQ(lost.outcome().error->message().substr(0, 27), "the logits after 6 tokens a");
}

TEST_F(EngineTest, EndTokensEndTheTextUnlessTheyAreIgnoredOrTooEarly) {
  Request request = plain_request(4, 30);
  request.sampling.temperature = 1;
  EngineRunner plain(*checkpoint_);
  Stream all = *plain.engine().submit(Request(request));
  while (plain.engine().step()) {
  }
  Collected free;
  while (const auto delta = all.try_next()) free.add(*delta);
  ASSERT_EQ(free.ids.size(), 30u);
  const std::int32_t end = free.ids[7];
  const auto first = std::find(free.ids.begin(), free.ids.end(), end) - free.ids.begin();

  EngineRunner runner(*checkpoint_, EngineRunner::defaults(), {}, nullptr, {end});
  const auto ids_of = [&](Request r, FinishReason finish) {
    Stream stream = *runner.engine().submit(std::move(r));
    while (runner.engine().step()) {
    }
    Collected got;
    while (const auto delta = stream.try_next()) got.add(*delta);
    EXPECT_EQ(stream.outcome().finish, finish);
    return got.ids;
  };
  EXPECT_EQ(ids_of(request, FinishReason::kStop),
            std::vector<std::int32_t>(free.ids.begin(), free.ids.begin() + first));
  request.ignore_eos = true;
  EXPECT_EQ(ids_of(request, FinishReason::kLength), free.ids);
  request.sampling.end_ids = {end};
  EXPECT_EQ(ids_of(request, FinishReason::kStop).size(), static_cast<std::size_t>(first));
  request.sampling.min_tokens = 30;
  const auto late = ids_of(request, FinishReason::kLength);
  EXPECT_EQ(late.size(), 30u);
  EXPECT_EQ(std::count(late.begin(), late.end(), end), 0);
}

TEST_F(EngineTest, PromptLogprobsAreThoseOfTheWholePrompt) {
  const std::vector<std::int32_t> prompt = some_prompt(70);
  ModelRunner by_hand(*checkpoint_, {.context = 96});
  const std::vector<float> rows = by_hand.run({prompt}, whole({prompt}))[0];
  for (const std::int64_t tokens : {0, 3}) {
    EngineRunner runner(*checkpoint_);
    Stream stream = *runner.engine().submit(
        {.prompt = prompt, .max_tokens = tokens, .prompt_logprobs = 2, .digest = true});
    while (runner.engine().step()) {
    }
    const Outcome& outcome = stream.outcome();
    EXPECT_EQ(outcome.generated_tokens, tokens);
    ASSERT_EQ(outcome.prompt_logprobs.size(), prompt.size() - 1);
    for (std::size_t i = 0; i + 1 < prompt.size(); ++i) {
      const std::span<const float> x(rows.data() + i * 37, 37);
      double sum = 0;
      for (const float v : x) sum += std::exp(static_cast<double>(v));
      const TokenLogprobs& t = outcome.prompt_logprobs[i];
      EXPECT_EQ(t.token.id, prompt[i + 1]);
      const auto at = static_cast<std::size_t>(t.token.id);
      EXPECT_NEAR(t.token.logprob, static_cast<double>(x[at]) - std::log(sum), 1e-5);
      ASSERT_EQ(t.top.size(), 2u);
      EXPECT_EQ(t.top[0].id, std::max_element(x.begin(), x.end()) - x.begin());
      EXPECT_GE(t.top[0].logprob, t.top[1].logprob);
    }
  }
}

TEST_F(EngineTest, RowsOfTheEmbeddingMatrixAreTheirTokens) {
  const auto tensors = checkpoint_->tensors();
  const auto table = std::find_if(tensors.begin(), tensors.end(), [](const TensorInfo& t) {
    return t.name == "token_embd.weight";
  });
  ASSERT_NE(table, tensors.end());
  ASSERT_EQ(table->format, F32::kFormat);
  const auto* values = reinterpret_cast<const float*>(table->data);
  Request tokens = plain_request(60, 12);
  for (const std::size_t given : {std::size_t{1}, std::size_t{50}, tokens.prompt.size()}) {
    Request rows = plain_request(60, 12);
    rows.prompt.clear();
    std::vector<float> embeddings;
    for (std::size_t i = 0; i < given; ++i) {
      const float* row = values + tokens.prompt[i] * 256;
      embeddings.insert(embeddings.end(), row, row + 256);
    }
    append_embeddings(rows, std::move(embeddings), 256);
    rows.prompt.insert(rows.prompt.end(), tokens.prompt.begin() + static_cast<int>(given),
                       tokens.prompt.end());
    EngineRunner runner(*checkpoint_);
    Stream other = *runner.engine().submit(plain_request(5, 30, 4));
    Stream stream = *runner.engine().submit(std::move(rows));
    while (runner.engine().step()) {
    }
    Collected got, beside;
    while (const auto delta = stream.try_next()) got.add(*delta);
    while (const auto delta = other.try_next()) beside.add(*delta);
    EXPECT_EQ(describe(got, stream.outcome()), solo(tokens)) << given;
    EXPECT_EQ(describe(beside, other.outcome()), solo(plain_request(5, 30, 4)));
  }
}

TEST_F(EngineTest, StoppingEndsEveryStreamAndTheyMayOutliveIt) {
  std::vector<Stream> streams;
  {
    RunnerOptions options = EngineRunner::defaults();
    options.sequences = 2;
    EngineRunner runner(*checkpoint_, options);
    runner.engine().start();
    for (int i = 0; i < 5; ++i) streams.push_back(*runner.engine().submit(plain_request(20, 70)));
    EXPECT_TRUE(streams[0].next().has_value());
  }
  for (Stream& stream : streams) {
    while (stream.next()) {
    }
    const Outcome& outcome = stream.outcome();
    EXPECT_TRUE(outcome.finish == FinishReason::kCancelled || outcome.generated_tokens == 70);
  }
  EXPECT_EQ(streams.back().outcome().finish, FinishReason::kCancelled);
}

/// With room for few pieces the engine falls asleep behind them; a piece that is taken wakes it.
TEST_F(EngineTest, AReaderThatCatchesUpWakesTheEngine) {
  for (const std::size_t room : {1U, 2U, 3U}) {
    EngineRunner runner(*checkpoint_, EngineRunner::defaults(), {.deltas_max = room});
    runner.engine().start();
    Stream slow = *runner.engine().submit(plain_request(10, 12));
    Stream quick = *runner.engine().submit(plain_request(10, 12, 3));
    EXPECT_EQ(read_all(quick), solo(plain_request(10, 12, 3))) << room;
    EXPECT_EQ(read_all(slow), solo(plain_request(10, 12))) << room;
  }
}

/// Two paused requests are as many as may be, and one of them is dropped: the step that drops it
/// makes room, for no second ring of the doorbell follows.
TEST_F(EngineTest, ARequestThatIsDroppedMakesRoomInTheSameStep) {
  RunnerOptions options = EngineRunner::defaults();
  options.sequences = 1;
  EngineRunner runner(*checkpoint_, options, {.waiting_max = 1, .deltas_max = 1});
  std::optional<Stream> first = runner.engine().submit(plain_request(10, 12));
  runner.engine().step();
  Stream second = *runner.engine().submit(plain_request(10, 12, 2));
  runner.engine().step();
  EXPECT_FALSE(runner.engine().submit(plain_request(10, 1, 3)).has_value());
  first.reset();
  runner.engine().step();
  auto third = runner.engine().submit(plain_request(10, 1, 3));
  ASSERT_TRUE(third.has_value());
  runner.engine().step();
  EXPECT_TRUE(third->try_next().has_value());
  EXPECT_TRUE(second.try_next().has_value());
}

/// Readers of all kinds at once: to the end, dropping midway, cancelling.
TEST_F(EngineTest, ManyThreadsSubmitReadAndDrop) {
  std::vector<Request> requests;
  std::mt19937_64 rng(4);
  for (int i = 0; i < 24; ++i) requests.push_back(random_request(rng, 40, 20));
  std::vector<std::string> results(requests.size());
  {
    RunnerOptions options = EngineRunner::defaults();
    options.threads = 2;
    options.sequences = 5;
    options.pool_sequences = 1;
    EngineRunner runner(*checkpoint_, options, {.waiting_max = 3, .deltas_max = 4});
    runner.engine().start();
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < requests.size(); i += 4) {
          Request request = requests[i];
          std::optional<Stream> stream;
          while (!(stream = runner.engine().submit(std::move(request)))) std::this_thread::yield();
          if (i % 3 == 0) {
            stream->next();
            continue;  // dropped
          }
          results[i] = read_all(*stream);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i % 3 != 0) {
      EXPECT_EQ(results[i], solo(requests[i])) << i;
    }
  }
}

TEST_F(EngineTest, TwoEnginesShareAThreadPool) {
  ThreadPool pool(2);
  RunnerOptions options = EngineRunner::defaults();
  options.pool = &pool;
  std::vector<std::string> results(8);
  {
    EngineRunner one(*checkpoint_, options), two(*checkpoint_, options);
    one.engine().start();
    two.engine().start();
    std::vector<Stream> streams;
    for (std::int32_t i = 0; i < 8; ++i) {
      Engine& engine = i % 2 == 0 ? one.engine() : two.engine();
      streams.push_back(*engine.submit(plain_request(20, 15, i)));
    }
    for (std::size_t i = 0; i < 8; ++i) results[i] = read_all(streams[i]);
  }
  for (std::int32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(results[static_cast<std::size_t>(i)], solo(plain_request(20, 15, i)));
  }
}

TEST_F(EngineTest, TwoThreadsOfOnePoolMayLoadAndRunAtOnce) {
  ThreadPool pool(2);
  RunnerOptions options = EngineRunner::defaults();
  options.pool = &pool;
  EngineRunner runner(*checkpoint_, options);
  runner.engine().start();
  Stream stream = *runner.engine().submit(plain_request(20, 60));
  for (int i = 0; i < 3; ++i) EngineRunner another(*checkpoint_, options);
  EXPECT_EQ(read_all(stream), solo(plain_request(20, 60)));
}

}  // namespace
}  // namespace ingot::testing_support
