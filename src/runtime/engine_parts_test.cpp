// Inbox, Intake, StepResults and EngineReporter: the way of a request, without an engine.
#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "runtime/engine_errors.h"
#include "runtime/engine_reporter.h"
#include "runtime/inbox.h"
#include "runtime/intake.h"
#include "runtime/schedule/scheduler_test_util.h"
#include "runtime/step_results.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot {
namespace {

/// Computes nothing, and draws `next` from every row.
class NoSteps final : public StepRunner {
 public:
  explicit NoSteps(KvCache& cache) : cache_(cache) {}
  KvCache& cache() override { return cache_; }
  const ExecutorLimits& limits() const override { return limits_; }
  void run(const Step&, std::span<const SampleRow>) override {}
  std::span<float> logits(std::int64_t) override { return {&logit_, 1}; }
  RowScore score(std::int64_t) const override { return {}; }
  std::span<const float> hidden(std::int64_t) const override { return {}; }
  void sample(std::span<const SampleRow>, std::span<Drawn> drawn,
              FunctionRef<void(std::int64_t row)>) override {
    for (Drawn& d : drawn) d.id = next;
  }

  std::int32_t next = 5;

 private:
  KvCache& cache_;
  ExecutorLimits limits_;
  float logit_ = 0;
};

/// Keeps a word for everything that it is told.
class Told final : public EngineObserver {
 public:
  void step(const StepRecord& r) override { all += cat("step ", r.number, "; "); }
  void state(const StepRecord& r) override { all += cat("waiting ", r.waiting, "; "); }
  void first_token(const RequestRecord& r) override { all += cat("first ", r.id, "; "); }
  void token(double) override { all += "token; "; }
  void request(const RequestRecord& r) override {
    all += cat(r.id, " ", to_string(*r.finish), "; ");
  }
  void freed(double seconds) override { all += cat("freed ", seconds, "; "); }
  void rejected(Rejection reason, std::size_t requests) override {
    all += cat(requests, " ", to_string(reason), "; ");
  }

  std::string all;
};

class EnginePartsTest : public ::testing::Test {
 protected:
  static Request request(std::int64_t tokens = 8) {
    return {.prompt = {1, 2, 3}, .max_tokens = tokens};
  }
  /// The observer's words since the last call.
  std::string told() { return std::exchange(told_.all, {}); }
  /// Submits a request and puts it into the waiting line.
  Stream enqueue(Request request) {
    std::vector<Stream> streams = inbox_.submit(std::move(request), 1);
    intake_.enqueue(*inbox_.try_pop(), now_);
    return std::move(streams.front());
  }
  void end_all() {
    for (auto& [id, request] : requests_) scheduler_.remove(request->sequence());
    requests_.clear();
  }

  Pool pool_{8};
  NoSteps runner_{pool_.cache()};
  double now_ = 10;
  Clock clock_ = [this] { return now_; };
  Told told_;
  Scheduler scheduler_{pool_.cache(), {.rows = 32, .sequences = 4}};
  RunningRequests requests_;
  RestingRequests resting_{scheduler_};
  EngineReporter reporter_{&told_,
                           {.now = clock_,
                            .scheduler = scheduler_,
                            .runner = runner_,
                            .requests = requests_,
                            .under_way = [this] { return inbox_.under_way(); }},
                           4};
  std::shared_ptr<Doorbell> bell_ = std::make_shared<Doorbell>();
  Inbox inbox_{{.request = {.vocab = 10, .ids = 10, .hidden = 1, .context = 1000, .text = false},
                .under_way_max = 4,
                .deltas_max = 2},
               scheduler_,
               reporter_,
               bell_,
               clock_,
               nullptr};
  Intake intake_{{.runner = runner_,
                  .scheduler = scheduler_,
                  .requests = requests_,
                  .resting = resting_,
                  .inbox = inbox_,
                  .reporter = reporter_},
                 nullptr,
                 {7, 99}};
};

TEST_F(EnginePartsTest, TheInboxNumbersChoicesAndRingsTheBell) {
  const auto first = inbox_.submit(request(), 2);
  const auto second = inbox_.submit(request(), 1);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[1].id(), 2u);
  EXPECT_EQ(second[0].id(), 3u);
  EXPECT_TRUE(bell_->take());
  EXPECT_EQ(inbox_.under_way(), 3u);
  EXPECT_EQ(inbox_.try_pop()->channels.size(), 2u);
  EXPECT_EQ(inbox_.under_way(), 3u) << "until they are released";
}

TEST_F(EnginePartsTest, AFullInboxGivesTheRequestBack) {
  const auto streams = inbox_.submit(request(), 3);
  Request another = request();
  EXPECT_TRUE(inbox_.submit(std::move(another), 2).empty());
  EXPECT_EQ(another.prompt.size(), 3u);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(told(), "2 queue_full; ");
  inbox_.release();
  EXPECT_EQ(inbox_.submit(std::move(another), 2).size(), 2u);
}

/// The choices of a submission share the sampling data that the submitting thread made.
TEST_F(EnginePartsTest, TheSubmittingThreadPreparesSampling) {
  std::vector<std::string> warnings;
  const auto tokenizer = make_tokenizer(testing::byte_level_data("gpt-2", {{"t", "h"}}), warnings);
  Inbox inbox(
      {.request = {.vocab = 257, .ids = 257, .context = 64}, .under_way_max = 64, .deltas_max = 1},
      scheduler_, reporter_, bell_, clock_, tokenizer.get());
  Request with = request();
  with.prompt = {'a', ':', 'b'};
  with.sampling.bad_words = {"th", "th"};
  with.sampling.allowed_token_ids = {9, 3, 9};
  with.sampling.dry_multiplier = 1;
  const auto streams = inbox.submit(std::move(with), 2);
  const auto taken = inbox.try_pop();
  ASSERT_TRUE(taken && taken->request.shared && taken->repeats);
  EXPECT_EQ(taken->request.shared->bad_words,
            (std::vector<std::vector<std::int32_t>>{{' ', 256}, {256}}));
  EXPECT_EQ(taken->request.shared->allowed, (std::vector<std::int32_t>{3, 9}));
  EXPECT_TRUE(taken->request.sampling.allowed_token_ids.empty()) << "each choice copies these";
  EXPECT_TRUE(taken->request.sampling.bad_words.empty());
  EXPECT_TRUE(taken->request.sampling.dry_sequence_breakers.empty());
  const auto history = taken->repeats->last(-1);
  EXPECT_EQ(std::vector(history.begin(), history.end()),
            (std::vector<std::int32_t>{'a', kBreakerToken, 'b'}));
  inbox.close(FinishReason::kCancelled, nullptr);
}

TEST_F(EnginePartsTest, CopiesOfAPreparedRequestShareItsLists) {
  Request common = request();
  common.sampling.allowed_token_ids = {9, 3};
  inbox_.prepare(common);
  const auto shared = common.shared;
  const auto first = inbox_.submit(Request(common), 1);
  const auto second = inbox_.submit(std::move(common), 1);
  EXPECT_EQ(inbox_.try_pop()->request.shared, shared);
  EXPECT_EQ(inbox_.try_pop()->request.shared, shared);
  Request wrong = request();
  wrong.sampling.bad_words = {"x"};
  EXPECT_THROW(inbox_.prepare(wrong), Error) << "without a tokenizer";
  EXPECT_EQ(told(), "1 invalid; ");
}

TEST_F(EnginePartsTest, AFullInboxPreparesNothing) {
  const auto streams = inbox_.submit(request(), 4);
  Request another = request();
  another.sampling.allowed_token_ids = {9, 3};
  EXPECT_TRUE(inbox_.submit(std::move(another), 1).empty());
  EXPECT_EQ(another.shared, nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(told(), "1 queue_full; ");
}

TEST_F(EnginePartsTest, RequestsThatNeverFitAreInvalid) {
  EXPECT_THROW(static_cast<void>(inbox_.submit(request(500), 1)), Error) << "the pool is smaller";
  EXPECT_THROW(static_cast<void>(inbox_.submit(request(), 0)), Error);
  EXPECT_THROW(static_cast<void>(inbox_.submit({.max_tokens = 1}, 1)), Error) << "no prompt";
  EXPECT_EQ(told(), "1 invalid; 1 invalid; 1 invalid; ");
  EXPECT_FALSE(inbox_.was_used());
}

TEST_F(EnginePartsTest, AClosedInboxEndsWhatItHolds) {
  auto streams = inbox_.submit(request(), 1);
  inbox_.refuse_all(Rejection::kDraining);
  EXPECT_TRUE(inbox_.is_draining());
  EXPECT_TRUE(inbox_.submit(request(), 1).empty());
  inbox_.refuse_all(Rejection::kFailed);
  inbox_.refuse_all(Rejection::kDraining);
  EXPECT_TRUE(inbox_.submit(request(), 1).empty());
  EXPECT_EQ(told(), "1 draining; 1 failed; ");
  const Error error(ErrorCode::kInternal, "broken");
  inbox_.close(FinishReason::kError, &error);
  EXPECT_EQ(told(), "1 error; ");
  ASSERT_TRUE(streams[0].finished());
  EXPECT_EQ(streams[0].outcome().error->message(), "broken");
  EXPECT_EQ(inbox_.under_way(), 0u);
}

TEST_F(EnginePartsTest, OnlyAFailureRefusesASuccessor) {
  const auto submit = [this] { return inbox_.submit(request(), 1, QueuePlace::kSuccessor).size(); };
  inbox_.refuse_all(Rejection::kDraining);
  EXPECT_FALSE(inbox_.has_room(1));
  EXPECT_EQ(submit(), 1u);
  inbox_.refuse_all(Rejection::kFailed);
  EXPECT_EQ(submit(), 0u);
  EXPECT_EQ(told(), "") << "only requests are counted";
  inbox_.close(FinishReason::kCancelled, nullptr);
}

TEST_F(EnginePartsTest, TheExpectedWaitGrowsWithTheQueue) {
  EXPECT_EQ(inbox_.expected_wait(5), 0) << "no sequence waits";
  Pool small(4);
  Scheduler one(small.cache(), {.rows = 8, .sequences = 1});
  Inbox inbox(
      {.request = {.vocab = 10, .ids = 10, .context = 64}, .under_way_max = 64, .deltas_max = 1},
      one, reporter_, bell_, clock_, nullptr);
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (int i = 0; i < 14; ++i) one.add(*sequences.emplace_back(sequence_of(small, 3)));
  for (int i = 0; i < 10; ++i) {  // a place every two seconds
    const std::vector<std::int32_t> drawn = drawn_for(one.plan().parts);
    inbox.publish_queue_state(now_);
    now_ += 2;
    one.commit(drawn, 1);
    one.remove(*sequences[static_cast<std::size_t>(i)]);
  }
  EXPECT_NEAR(inbox.expected_wait(1), 2, 0.3);
  EXPECT_NEAR(inbox.expected_wait(3), 6, 0.9);
  EXPECT_EQ(inbox.expected_wait(100), inbox.expected_wait(4)) << "four were waiting";
}

/// What a body in the pool throws reaches the engine's thread.
TEST(EngineErrors, EveryExceptionIsAnError) {
  const Error given = error_of(std::make_exception_ptr(Error(ErrorCode::kInvalid, "wrong")));
  EXPECT_EQ(given.code(), ErrorCode::kInvalid);
  EXPECT_EQ(given.message(), "wrong");
  EXPECT_EQ(error_of(std::make_exception_ptr(std::bad_alloc())).code(), ErrorCode::kDoesNotFit);
  EXPECT_EQ(error_of(std::make_exception_ptr(std::length_error("x"))).code(), ErrorCode::kInternal);
  EXPECT_EQ(error_of(std::make_exception_ptr(1)).code(), ErrorCode::kInternal);
}

TEST_F(EnginePartsTest, TheIntakeQueuesEveryChoice) {
  const auto streams = inbox_.submit(request(), 2);
  intake_.enqueue(*inbox_.try_pop(), now_);
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(scheduler_.waiting(), 2);
  EXPECT_EQ(requests_.at(2)->sequence().fork_of, &requests_.at(1)->sequence());
  reporter_.state();
  EXPECT_EQ(told(), "waiting 2; ");
}

TEST_F(EnginePartsTest, TheIntakeRefusesWhatSurelyComesTooLate) {
  Request hurried = request();
  hurried.first_token_seconds = 0.5;
  const auto streams = inbox_.submit(std::move(hurried), 1);
  Submission submission = *inbox_.try_pop();
  intake_.enqueue(std::move(submission), now_ + 1);
  EXPECT_EQ(told(), "1 deadline; 1 error; ");
  EXPECT_TRUE(requests_.empty());
  EXPECT_EQ(scheduler_.waiting(), 0);
  EXPECT_EQ(inbox_.under_way(), 0u);
  EXPECT_EQ(streams[0].outcome().error->code(), ErrorCode::kUnavailable);
}

/// A later prompt of a list begins when a part of the list's time has passed.
TEST_F(EnginePartsTest, AMissedLimitIsNamedAsTheClientGaveIt) {
  Request late = request();
  late.end_seconds = 5;
  late.elapsed_seconds = 6;
  const auto streams = inbox_.submit(std::move(late), 1);
  intake_.enqueue(*inbox_.try_pop(), now_);
  const std::string& message = streams[0].outcome().error->message();
  EXPECT_EQ(message.find("deadline_ms: 5000 ms cannot be kept"), 0u) << message;
  EXPECT_NE(message.find("it takes 6"), std::string::npos) << message;
}

TEST_F(EnginePartsTest, ACancelledRequestsBlocksAreFreeAfterTheStepsUnderWay) {
  Stream stream = enqueue(request());
  RunningRequest& running = *requests_.at(1);
  const Step& step = scheduler_.plan();
  ASSERT_EQ(step.parts.size(), 1u);
  running.started(now_);
  stream.cancel();
  running.finish(FinishReason::kCancelled);
  scheduler_.remove(running.sequence());
  reporter_.ended(running);
  now_ += 3;
  reporter_.freed();
  EXPECT_EQ(told(), "1 cancelled; ") << "the step may still read them";
  scheduler_.commit(std::vector<std::int32_t>{-1}, 1);
  reporter_.freed();
  reporter_.step(step, {}, {});
  EXPECT_EQ(told(), "freed 3; step 1; ");
  requests_.clear();
}

/// A successor is one request more than the reporter has room for.
TEST_F(EnginePartsTest, TheReporterKeepsNoMoreCancelledRequestsThanItHasRoomFor) {
  std::vector<Stream> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(enqueue(request()));
  std::vector<Stream> successor = inbox_.submit(request(), 1, QueuePlace::kSuccessor);
  intake_.enqueue(*inbox_.try_pop(), now_);
  streams.push_back(std::move(successor.front()));
  const Step& step = scheduler_.plan();
  const std::vector<std::int32_t> drawn(static_cast<std::size_t>(step.outputs), -1);
  for (Stream& stream : streams) stream.cancel();
  for (auto& [id, running] : requests_) {
    running->finish(FinishReason::kCancelled);
    scheduler_.remove(running->sequence());
    reporter_.ended(*running);
  }
  scheduler_.commit(drawn, 1);
  static_cast<void>(told());
  reporter_.freed();
  EXPECT_EQ(told(), "freed 0; freed 0; freed 0; freed 0; ");
  requests_.clear();
}

TEST_F(EnginePartsTest, APreemptionDoesNotLowerWhatWasComputed) {
  const Stream stream = enqueue(request());
  RunningRequest& running = *requests_.at(1);
  const Step& step = scheduler_.plan();
  running.started(now_);
  ASSERT_EQ(step.rows, 3);
  scheduler_.commit(std::vector<std::int32_t>{5}, 1);
  running.note_computed();
  EXPECT_EQ(running.record(0, now_).computed_tokens, 3);
  const std::int64_t computed = std::exchange(running.sequence().computed, 0);
  running.note_computed();
  EXPECT_EQ(running.record(0, now_).computed_tokens, 3);
  running.sequence().computed = computed;
  end_all();
}

/// Its prompt counts, though it never ran.
TEST_F(EnginePartsTest, TheOutcomeOfARequestInTheInboxHasItsPrompt) {
  auto streams = inbox_.submit(request(), 2);
  inbox_.close(FinishReason::kCancelled, nullptr);
  EXPECT_EQ(streams[1].outcome().prompt_tokens, 3);
  EXPECT_EQ(streams[1].outcome().computed_tokens, 0);
  EXPECT_TRUE(streams[0].outcome().is_first_choice);
  EXPECT_FALSE(streams[1].outcome().is_first_choice);
}

TEST_F(EnginePartsTest, StepResultsReachTheReader) {
  Stream first = enqueue(request()), second = enqueue(request());
  StepResults results(runner_, reporter_, 4, 8);
  const Step& step = scheduler_.plan();
  ASSERT_EQ(step.outputs, 2);
  for (auto& [id, running] : requests_) running->started(now_);
  scheduler_.remove(requests_.at(2)->sequence());
  results.sample(step);
  const auto tokens = results.deliver(step, now_);
  EXPECT_EQ(std::vector(tokens.begin(), tokens.end()), (std::vector{5, -1}));
  EXPECT_EQ(first.try_next()->ids, std::vector{5});
  EXPECT_FALSE(second.try_next()) << "it was removed while the step was under way";
  EXPECT_EQ(told(), "first 1; ");
  scheduler_.commit(tokens, 1);
  end_all();
}

TEST_F(EnginePartsTest, AnEndTokenEndsTheRequest) {
  Stream stream = enqueue(request());
  runner_.next = 7;
  StepResults results(runner_, reporter_, 4, 8);
  const Step& step = scheduler_.plan();
  requests_.at(1)->started(now_);
  results.sample(step);
  EXPECT_EQ(results.deliver(step, now_)[0], -1);
  EXPECT_TRUE(requests_.at(1)->ended());
  EXPECT_FALSE(stream.finished()) << "until its blocks are released";
  end_all();
}

}  // namespace
}  // namespace ingot
