// Engine: deadlines, readers that stall, steps that fail, the drain, and what observers are told.
#include <thread>

#include "engine/engine_test_util.h"
#include "quant/formats.h"

namespace ingot::testing_support {
namespace {

/// A model's steps, of which some fail.
class FaultySteps final : public StepRunner {
 public:
  FaultySteps(ModelRunner& model, std::vector<int> failures)
      : steps_(model.executor(), model.pool(), model.table(), model.spec().vocab),
        failures_(std::move(failures)) {}

  KvCache& cache() override { return steps_.cache(); }
  const ExecutorLimits& limits() const override { return steps_.limits(); }
  std::int32_t steps_ahead() const override { return steps_.steps_ahead(); }
  bool draws() const override { return steps_.draws(); }
  void run(const Step& step, std::span<const SampleRow> draws) override {
    const int call = calls_++;
    const bool fails = std::count(failures_.begin(), failures_.end(), call) > 0;
    // After the work, if that is all that is under way: what it has written must not show.
    if (!fails || steps_.steps_ahead() == 1) steps_.run(step, draws);
    if (!fails) return;
    if (steps_.steps_ahead() == 1) steps_.wait(step);
    throw Error(ErrorCode::kInternal, "the device is lost");
  }
  void wait(const Step& step) override { steps_.wait(step); }
  void drain() noexcept override { steps_.drain(); }
  void run_again(const Step& step) override { steps_.run_again(step); }
  std::optional<std::int32_t> drawn(std::int64_t i) const override { return steps_.drawn(i); }
  std::span<float> logits(std::int64_t i) override { return steps_.logits(i); }
  RowScore score(std::int64_t i) const override { return steps_.score(i); }
  std::span<const float> hidden(std::int64_t i) const override { return steps_.hidden(i); }
  void sample(std::span<const SampleRow> rows, std::span<Drawn> drawn,
              FunctionRef<void(std::int64_t row)> before) override {
    steps_.sample(rows, drawn, before);
  }

 private:
  ModelSteps steps_;
  std::vector<int> failures_;
  int calls_ = 0;
};

Request some_request(std::int32_t prompt, std::int64_t tokens, std::int32_t first = 1) {
  Request request{.max_tokens = tokens, .digest = true};
  for (std::int32_t i = 0; i < prompt; ++i) request.prompt.push_back((first + 5 * i) % 36);
  return request;
}

class EngineControl : public testing::Test {
 protected:
  std::unique_ptr<Engine> faulty(std::vector<int> failures, const EngineOptions& options = {}) {
    model_ = std::make_unique<ModelRunner>(*checkpoint_, EngineRunner::defaults());
    const Spec& spec = model_->spec();
    return std::make_unique<Engine>(
        EngineSetup{.steps = std::make_unique<FaultySteps>(*model_, std::move(failures)),
                    .limits = {.vocab = spec.vocab,
                               .ids = spec.vocab,
                               .hidden = spec.hidden,
                               .context = 96,
                               .text = false}},
        options);
  }
  EngineOptions clocked() {
    return {.stall_seconds = 30, .now = [this] { return now_; }};
  }
  static std::string message(const Stream& stream) {
    const Outcome& outcome = stream.outcome();
    return outcome.error ? outcome.error->message() : "";
  }

  std::unique_ptr<EditableCheckpoint> checkpoint_ =
      make_checkpoint(two_layers(random_models(F32::kFormat)[2]), 1);
  std::unique_ptr<ModelRunner> model_;
  double now_ = 1000;
};

TEST_F(EngineControl, AStepThatFailsOnceIsRunAgainAndChangesNothing) {
  EngineRunner alone(*checkpoint_);
  const auto engine = faulty({0, 3, 7});
  std::vector<Stream> streams = engine->submit_choices(some_request(37, 12), 3);
  while (engine->step()) continue;
  for (std::size_t i = 0; i < 3; ++i) {
    Collected got;
    while (const auto delta = streams[i].try_next()) got.add(*delta);
    Request request = some_request(37, 12);
    request.sampling.choice = static_cast<std::uint32_t>(i);
    EXPECT_EQ(describe(got, streams[i].outcome()), run_alone(alone, request));
  }
  EXPECT_FALSE(engine->has_failed());
}

TEST_F(EngineControl, AStepThatFailsTwiceEndsEverythingOnce) {
  std::vector<std::string> told;
  const auto engine =
      faulty({4, 5}, {.failed = [&](const Error& e) { told.push_back(e.message()); }});
  Stream running = *engine->submit(some_request(20, 30));
  for (int i = 0; i < 4; ++i) engine->step();
  Stream late = *engine->submit(some_request(20, 5, 3));
  EXPECT_FALSE(engine->step());
  EXPECT_TRUE(engine->has_failed());
  EXPECT_EQ(told, std::vector<std::string>{"the device is lost"});
  for (Stream* stream : {&running, &late}) {
    while (stream->try_next()) continue;
    ASSERT_TRUE(stream->finished());
    EXPECT_EQ(stream->outcome().finish, FinishReason::kError);
    EXPECT_EQ(message(*stream), "the device is lost");
  }
  EXPECT_EQ(running.outcome().generated_tokens, 4);
  EXPECT_FALSE(engine->submit(some_request(3, 3)).has_value());
  EXPECT_EQ(engine->under_way(), 0u);
  EXPECT_FALSE(engine->step());
}

TEST_F(EngineControl, AReaderThatStallsIsGivenUpAfterTheLimit) {
  EngineOptions options = clocked();
  options.deltas_max = 2;
  EngineRunner runner(*checkpoint_, EngineRunner::defaults(), options);
  Stream slow = *runner.engine().submit(some_request(5, 20));
  Stream other = *runner.engine().submit(some_request(5, 2, 4));
  for (int i = 0; i < 5; ++i) runner.engine().step();
  now_ += 29;
  runner.engine().step();
  EXPECT_EQ(runner.engine().under_way(), 1u);
  EXPECT_TRUE(slow.try_next());
  for (int i = 0; i < 2; ++i) runner.engine().step();  // it ran again: the time begins anew
  now_ += 29;
  runner.engine().step();
  EXPECT_EQ(runner.engine().under_way(), 1u);
  now_ += 2;
  EXPECT_FALSE(runner.engine().step());
  while (slow.try_next()) continue;
  EXPECT_EQ(slow.outcome().finish, FinishReason::kCancelled);
  EXPECT_EQ(slow.outcome().generated_tokens, 3);
  EXPECT_EQ(runner.blocks_in_use(), 0);
}

/// A preempted request continues once half of its queue is read, at any speed.
TEST_F(EngineControl, AReaderThatReadsSlowlyIsNotGivenUp) {
  EngineOptions options = clocked();
  options.deltas_max = 16;
  RunnerOptions small = EngineRunner::defaults();
  small.sequences = 2;
  small.pool_sequences = 1;
  EngineRunner runner(*checkpoint_, small, options);
  Engine& engine = runner.engine();
  Stream slow = *engine.submit(some_request(40, 50));
  for (int i = 0; i < 30; ++i) engine.step();
  Stream other = *engine.submit(some_request(60, 30, 4));
  while (!other.finished()) {
    engine.step();
    while (other.try_next()) continue;
  }
  ASSERT_GT(engine.scheduler().preemptions(), 0) << "the slow one kept its blocks";
  Collected got;
  for (int piece = 0; !slow.finished(); ++piece) {
    ASSERT_LT(piece, 60);
    if (const auto delta = slow.try_next()) got.add(*delta);
    now_ += 20;
    engine.step();
  }
  EXPECT_EQ(slow.outcome().finish, FinishReason::kLength);
  EXPECT_EQ(got.ids.size(), 50u);
}

TEST_F(EngineControl, ADeadlineThatIsOverEndsTheRequestWithAnError) {
  EngineRunner runner(*checkpoint_, EngineRunner::defaults(), clocked());
  Request timed = some_request(5, 50);
  timed.end_seconds = 2;
  Request first = some_request(5, 50, 3);
  first.first_token_seconds = 2;
  Stream ends = *runner.engine().submit(std::move(timed));
  Stream begins = *runner.engine().submit(std::move(first));
  for (int i = 0; i < 3; ++i) runner.engine().step();
  now_ += 2.5;
  runner.engine().step();
  while (ends.try_next()) continue;
  ASSERT_TRUE(ends.finished());
  EXPECT_EQ(message(ends).substr(0, 16), "The time is over");
  EXPECT_EQ(ends.outcome().error->code(), ErrorCode::kTimeout);
  while (runner.engine().step()) {
    while (begins.try_next()) continue;
  }
  while (begins.try_next()) continue;
  EXPECT_EQ(begins.outcome().finish, FinishReason::kLength) << "its first token was in time";
}

/// Each step takes a second here, so that prompts of 48 rows take one, and a token takes one.
TEST_F(EngineControl, WhatCannotBeInTimeIsRefusedWithThePrediction) {
  EngineOptions options = clocked();
  options.now = [this] { return now_ += 0.25; };
  EngineRunner runner(*checkpoint_, EngineRunner::defaults(), options);
  run_alone(runner, some_request(48, 5));
  run_alone(runner, some_request(1, 5));
  Stream ahead = *runner.engine().submit(some_request(90, 5, 2));
  const auto refusal = [&](auto change) {
    Request request = some_request(90, 5, 7);
    change(request);
    Stream stream = *runner.engine().submit(std::move(request));
    runner.engine().step();
    return stream.finished() ? message(stream) : "taken";
  };
  EXPECT_EQ(refusal([](Request& r) { r.first_token_seconds = 0.5; }).substr(0, 39),
            "max_ttft_ms: 500 ms cannot be kept: at ");
  EXPECT_EQ(refusal([](Request& r) { r.end_seconds = 1; }).substr(0, 12), "deadline_ms:");
  const auto server_limit = [](Request& r) {
    r.end_seconds = 1;
    r.end_limit = "request_timeout";
  };
  EXPECT_EQ(refusal(server_limit).substr(0, 16), "request_timeout:");
  EXPECT_EQ(refusal([](Request& r) { r.first_token_seconds = 1000; }), "taken");
}

/// Two run at once and each takes two steps of a second, so that one begins every second.
TEST_F(EngineControl, HowLongARequestWouldWait) {
  RunnerOptions two = EngineRunner::defaults();
  two.sequences = 2;
  EngineRunner runner(*checkpoint_, two, clocked());
  Engine& engine = runner.engine();
  std::vector<Stream> streams;
  const auto submit = [&](int count, std::int64_t tokens) {
    for (int i = 0; i < count; ++i) streams.push_back(*engine.submit(some_request(1, tokens, i)));
  };
  const auto step = [&] {
    now_ += 1;
    return engine.step();
  };
  submit(20, 2);
  EXPECT_EQ(engine.expected_wait(20), 0) << "nothing is known";
  while (step()) continue;
  submit(2, 40);
  step();
  EXPECT_EQ(engine.expected_wait(2), 0) << "every request found room";
  submit(3, 40);
  EXPECT_EQ(engine.expected_wait(5), 0);
  step();
  EXPECT_NEAR(engine.expected_wait(5), 3, 0.5);
  submit(2, 40);
  EXPECT_NEAR(engine.expected_wait(7), 5, 0.5) << "those who came since are in front as well";
  EXPECT_NEAR(engine.expected_wait(1), 1, 0.2) << "a tenant's own";
  for (int i = 0; i < 200; ++i) now_ += 1;
  step();
  EXPECT_GT(engine.expected_wait(7), 30) << "no request has begun for long";
}

TEST_F(EngineControl, WhoWaitsForAPromptIsNoQueue) {
  EngineRunner runner(*checkpoint_, EngineRunner::defaults(), clocked());
  Request request = some_request(90, 3);
  request.queue_seconds = 1;
  auto streams = runner.engine().submit_choices(std::move(request), 4);
  runner.engine().step();
  EXPECT_EQ(runner.engine().scheduler().waiting(), 3);
  EXPECT_EQ(runner.engine().scheduler().queued(), 0);
  now_ += 2;
  while (runner.engine().step()) continue;
  for (Stream& stream : streams) {
    while (stream.try_next()) continue;
    EXPECT_EQ(stream.outcome().finish, FinishReason::kLength) << "its time to wait was not over";
  }
}

TEST_F(EngineControl, WhoWaitsTooLongForItsTurnIsTold) {
  RunnerOptions one = EngineRunner::defaults();
  one.sequences = 1;
  EngineRunner runner(*checkpoint_, one, clocked());
  Stream runs = *runner.engine().submit(some_request(1, 20));
  Request request = some_request(1, 3);
  request.queue_seconds = 1;
  Stream waits = *runner.engine().submit(std::move(request));
  runner.engine().step();
  now_ += 2;
  runner.engine().step();
  ASSERT_TRUE(waits.finished());
  EXPECT_EQ(waits.outcome().error->code(), ErrorCode::kTimeout);
  EXPECT_EQ(message(waits).substr(0, 14), "queue_timeout:");
}

TEST_F(EngineControl, ADrainLetsEverybodyEnd) {
  EngineRunner runner(*checkpoint_);
  runner.engine().start();
  std::vector<Stream> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(*runner.engine().submit(some_request(20, 10, i)));
  runner.engine().begin_drain(1000);
  EXPECT_FALSE(runner.engine().submit(some_request(3, 3)).has_value());
  EXPECT_TRUE(runner.engine().wait_drained());
  for (Stream& stream : streams) {
    while (stream.next()) continue;
    EXPECT_EQ(stream.outcome().finish, FinishReason::kLength);
  }
}

TEST_F(EngineControl, ADrainCancelsWhatTakesTooLong) {
  EngineOptions options = clocked();
  options.deltas_max = 1;
  EngineRunner runner(*checkpoint_, EngineRunner::defaults(), options);
  Stream stuck = *runner.engine().submit(some_request(20, 10));
  for (int i = 0; i < 3; ++i) runner.engine().step();
  runner.engine().begin_drain(5);
  EXPECT_TRUE(runner.engine().step()) << "it may still be read";
  now_ += 6;
  EXPECT_FALSE(runner.engine().step());
  EXPECT_FALSE(runner.engine().wait_drained());
  while (stuck.try_next()) continue;
  EXPECT_EQ(stuck.outcome().finish, FinishReason::kCancelled);
}

/// No choice is under way for a moment, between the end of one prompt and the next prompt of a
/// list.
TEST_F(EngineControl, ADrainWaitsForSuccessors) {
  EngineRunner runner(*checkpoint_);
  Engine& engine = runner.engine();
  std::shared_ptr<void> expected = engine.expect_successors();
  engine.begin_drain(1000);
  EXPECT_FALSE(engine.step());
  EXPECT_FALSE(engine.submit(some_request(3, 3)).has_value()) << "it is new";
  auto streams = engine.submit_choices(some_request(3, 3), 1, QueuePlace::kSuccessor);
  ASSERT_EQ(streams.size(), 1u);
  expected.reset();
  EXPECT_TRUE(engine.wakes());
  while (engine.step()) streams[0].try_next();
  while (streams[0].try_next()) continue;
  EXPECT_EQ(streams[0].outcome().finish, FinishReason::kLength);
  EXPECT_FALSE(engine.step());
  EXPECT_TRUE(engine.wait_drained());
}

TEST_F(EngineControl, ADrainWaitsForSuccessorsUntilItsTimeLimit) {
  EngineRunner runner(*checkpoint_, EngineRunner::defaults(), clocked());
  Engine& engine = runner.engine();
  const std::shared_ptr<void> expected = engine.expect_successors();
  engine.begin_drain(5);
  EXPECT_TRUE(engine.wakes());
  EXPECT_FALSE(engine.step());
  EXPECT_FALSE(engine.wakes());
  now_ += 6;
  EXPECT_TRUE(engine.wakes()) << "at the time limit";
  EXPECT_FALSE(engine.step());
  EXPECT_FALSE(engine.wakes()) << "not again";
  EXPECT_FALSE(engine.wait_drained()) << "by force";
}

/// Keeps what it is told.
class Listener final : public EngineObserver {
 public:
  void step(const StepRecord& record) override { steps.push_back(record); }
  void first_token(const RequestRecord& record) override { firsts.push_back(record); }
  void token(double gap_seconds) override { gaps.push_back(gap_seconds); }
  void request(const RequestRecord& record) override { requests.push_back(record); }
  std::vector<StepRecord> steps;
  std::vector<double> gaps;
  std::vector<RequestRecord> firsts, requests;
};

TEST_F(EngineControl, AnObserverIsToldOfStepsTokensAndRequests) {
  Listener listener;
  EngineOptions options = clocked();
  options.now = [this] { return now_ += 0.5; };
  options.observer = &listener;
  EngineRunner runner(*checkpoint_, EngineRunner::defaults(), options);
  run_alone(runner, some_request(60, 4));
  ASSERT_EQ(listener.steps.size(), 5u);
  EXPECT_EQ(listener.steps[0].prefill_rows, 48);
  EXPECT_EQ(listener.steps[0].output_rows, 0);
  EXPECT_EQ(listener.steps[1].prefill_rows, 12);
  EXPECT_EQ(listener.steps[1].output_rows, 1);
  std::uint64_t number = 0;
  for (const StepRecord& r : listener.steps) {
    EXPECT_EQ(r.number, ++number);
    EXPECT_EQ(r.decode_rows, number > 2 ? 1 : 0);
    EXPECT_EQ(r.sequences, 1);
    EXPECT_EQ(r.blocks_free + r.blocks_evictable + r.blocks_referenced, r.blocks_total);
    EXPECT_EQ(r.running, number < 5 ? 1 : 0) << "after the ended ones are dropped";
    EXPECT_NEAR(r.plan_seconds + r.forward_seconds + r.sample_seconds + r.deliver_seconds +
                    r.commit_seconds,
                r.seconds, 1e-9);
  }
  ASSERT_EQ(listener.gaps.size(), 3u);
  for (const double gap : listener.gaps) EXPECT_GT(gap, 0);
  ASSERT_EQ(listener.firsts.size(), 1u);
  EXPECT_EQ(listener.firsts[0].generated_tokens, 1);
  EXPECT_EQ(listener.firsts[0].finish, std::nullopt);
  ASSERT_EQ(listener.requests.size(), 1u);
  const RequestRecord& request = listener.requests[0];
  EXPECT_EQ(request.prompt_tokens, 60);
  EXPECT_EQ(request.generated_tokens, 4);
  EXPECT_EQ(request.max_tokens, 4);
  EXPECT_EQ(request.choices, 1);
  EXPECT_EQ(request.finish, FinishReason::kLength);
  EXPECT_LT(request.queued_seconds, *request.start_seconds);
  EXPECT_LT(*request.start_seconds, *request.first_token_seconds);
  EXPECT_LT(*request.first_token_seconds, request.end_seconds);
}

}  // namespace
}  // namespace ingot::testing_support
