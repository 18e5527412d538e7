// Engine: devices that fail late or never answer, and requests that come in meanwhile.
#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <initializer_list>
#include <latch>
#include <thread>

#include "base/error.h"
#include "engine/fake_device.h"
#include "runtime/observe/engine_metrics.h"

namespace ingot::testing_support {
namespace {

Request seeded_request(std::uint64_t seed, std::int64_t tokens) {
  Request request{.prompt = {1, 2, 3, 4, 5}, .max_tokens = tokens};
  request.sampling.seed = seed;
  return request;
}

std::vector<std::int32_t> read_ids(Stream& stream) {
  std::vector<std::int32_t> ids;
  while (const auto delta = stream.try_next()) {
    ids.insert(ids.end(), delta->ids.begin(), delta->ids.end());
  }
  return ids;
}

std::vector<std::int32_t> expected_ids(std::uint64_t seed, std::uint64_t tokens) {
  std::vector<std::int32_t> ids;
  for (std::uint64_t i = 0; i < tokens; ++i) ids.push_back(FakeDevice::token(seed, i));
  return ids;
}

/// Engines on devices with as many steps under way as the parameter says, which draw or not.
class EngineFaults : public testing::TestWithParam<std::pair<int, bool>> {
 protected:
  /// On a device whose calls of `wait` with these numbers fail.
  void make_engine(std::initializer_list<int> late, const EngineOptions& options = {}) {
    const auto [steps, draws] = GetParam();
    auto device = std::make_unique<FakeDevice>(
        FakeDevice::Hook{},
        [calls = std::vector(late)](int n) {
          if (std::count(calls.begin(), calls.end(), n) > 0) {
            throw Error(ErrorCode::kInternal, cat("wait ", n, " failed"));
          }
        },
        steps, draws);
    device_ = device.get();
    engine_ = engine_on(std::move(device), options);
  }

  FakeDevice* device_ = nullptr;
  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Depths, EngineFaults,
                         testing::Values(std::pair(1, false), std::pair(1, true),
                                         std::pair(2, false), std::pair(2, true)));

TEST_P(EngineFaults, AStepThatFailsLateIsRunAgainAndChangesNothing) {
  make_engine({0, 4, 9});
  std::vector<Stream> streams;
  for (const std::uint64_t seed : {3u, 8u})
    streams.push_back(*engine_->submit(seeded_request(seed, 20)));
  while (engine_->step()) continue;
  EXPECT_EQ(read_ids(streams[0]), expected_ids(3, 20));
  EXPECT_EQ(read_ids(streams[1]), expected_ids(8, 20));
  EXPECT_FALSE(engine_->has_failed());
  EXPECT_EQ(device_->drains(), 3);
  EXPECT_GE(device_->again(), 3) << "with it those that went on with its tokens";
}

/// The second request needs the tokens before, the third one needs the logits.
TEST_P(EngineFaults, OnlyTokensThatTheDeviceDrawsAreContinuedBeforeTheyAreThere) {
  make_engine({6});
  std::array requests{seeded_request(3, 20), seeded_request(8, 20), seeded_request(9, 20)};
  requests[1].sampling.presence_penalty = 1;
  requests[2].digest = true;
  std::vector<Stream> streams;
  for (Request& request : requests) streams.push_back(*engine_->submit(std::move(request)));
  while (engine_->step()) continue;
  EXPECT_EQ(read_ids(streams[0]), expected_ids(3, 20));
  EXPECT_EQ(read_ids(streams[1]), expected_ids(8, 20));
  EXPECT_EQ(read_ids(streams[2]), expected_ids(9, 20));
  EXPECT_EQ(device_->continued(), GetParam() == std::pair(2, true) ? 19 : 0);
}

/// A long step hides no request: a request that comes while it runs waits.
TEST(EngineLoadTest, RequestsThatComeDuringAStepWait) {
  Engine* engine = nullptr;
  std::vector<Stream> streams;
  std::vector<std::pair<std::size_t, std::size_t>> found;
  const auto look = [&] {
    const EngineLoad load = engine->load();
    found.emplace_back(load.running, load.waiting);
  };
  const auto on_run = [&](int call) {
    look();
    if (call > 0) return;
    streams.push_back(*engine->submit(seeded_request(2, 2)));
    look();
  };
  EngineMetrics metrics;
  const auto owner = engine_on(std::make_unique<FakeDevice>(on_run), {.observer = &metrics});
  engine = owner.get();
  streams.push_back(*engine->submit(seeded_request(1, 2)));
  look();
  engine->step();
  look();
  EXPECT_EQ(metrics.snapshot().waiting, 1);
  engine->step();
  look();
  while (engine->step()) continue;
  look();
  EXPECT_EQ(found, (std::vector<std::pair<std::size_t, std::size_t>>{
                       {0, 1}, {1, 0}, {1, 1}, {1, 1}, {2, 0}, {1, 0}, {1, 0}, {0, 0}}));
}

TEST_P(EngineFaults, AStepThatFailsLateTwiceEndsEverythingOnce) {
  std::vector<std::string> told;
  make_engine({4, 5}, {.failed = [&](const Error& e) { told.push_back(e.message()); }});
  std::vector<Stream> streams;
  for (const std::uint64_t seed : {3u, 8u})
    streams.push_back(*engine_->submit(seeded_request(seed, 20)));
  while (engine_->step()) continue;
  EXPECT_TRUE(engine_->has_failed());
  EXPECT_EQ(told, std::vector<std::string>{"wait 5 failed"});
  for (Stream& stream : streams) {
    EXPECT_EQ(read_ids(stream).size(), 4u);
    ASSERT_TRUE(stream.finished());
    ASSERT_TRUE(stream.outcome().error.has_value());
    EXPECT_EQ(stream.outcome().error->message(), "wait 5 failed");
  }
  EXPECT_EQ(device_->drains(), 2) << "before the second try, and before blocks are freed";
  EXPECT_EQ(engine_->under_way(), 0u);
  EXPECT_FALSE(engine_->submit(seeded_request(1, 1)).has_value());
}

TEST_P(EngineFaults, AStopWaitsForWhatIsUnderWay) {
  make_engine({});
  Stream stream = *engine_->submit(seeded_request(3, 20));
  for (int i = 0; i < 5; ++i) engine_->step();
  engine_->stop();
  EXPECT_EQ(engine_->scheduler().under_way(), 0);
  EXPECT_EQ(device_->drains(), GetParam().first - 1)
      << "nothing is under way between steps at depth 1";
  read_ids(stream);
  EXPECT_EQ(stream.outcome().finish, FinishReason::kCancelled);
}

/// An engine whose device does not come back from a step until it is released. The parameters say
/// whether it is `wait` that does not, and whether that step has failed and will fail again.
class EngineWatch : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  EngineWatch() {
    const auto [in_wait, fails] = GetParam();
    const FakeDevice::Hook none;
    const FakeDevice::Hook block = [this, fails = fails](int call) {
      if (call == (fails ? 4 : 3)) {
        blocked_.count_down();
        released_.wait();
      }
      if (fails && call >= 3) throw Error(ErrorCode::kInternal, "the device is lost");
    };
    engine_ =
        engine_on(std::make_unique<FakeDevice>(in_wait ? none : block, in_wait ? block : none),
                  {.step_limit_seconds = 30,
                   .now = [this] { return now_.load(); },
                   .failed = [this](const Error& e) { told_.push_back(e.message()); }});
  }
  /// Returns once a watching thread gives the step up.
  void give_up() {
    blocked_.wait();
    now_.store(now_.load() + 31);
    while (!engine_->watch()) std::this_thread::yield();
  }

  const std::string message_ = "a step takes longer than 30 s";
  std::atomic<double> now_{1000};
  std::vector<std::string> told_;
  std::latch blocked_{1}, released_{1};
  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Calls, EngineWatch, testing::Combine(testing::Bool(), testing::Bool()));

TEST_P(EngineWatch, AStepThatDoesNotEndEndsEveryRequestOnce) {
  Stream stream = *engine_->submit(seeded_request(3, 20));
  std::thread stepper([this] {
    while (engine_->step()) continue;
  });
  blocked_.wait();
  Stream late = *engine_->submit(seeded_request(8, 20));
  now_.store(1030);
  EXPECT_FALSE(engine_->watch()) << "not longer than the limit";
  give_up();
  EXPECT_EQ(told_, std::vector{message_});
  EXPECT_EQ(read_ids(stream), expected_ids(3, 3));
  for (Stream* ended : {&stream, &late}) {
    ASSERT_TRUE(ended->finished()) << "while the step is still under way";
    EXPECT_EQ(ended->outcome().error->message(), message_);
  }
  EXPECT_FALSE(engine_->submit(seeded_request(1, 1)).has_value());
  EXPECT_THROW(engine_->require_alive(), Error);
  released_.count_down();
  stepper.join();
  EXPECT_TRUE(engine_->watch());
  EXPECT_EQ(told_.size(), 1u);
  EXPECT_EQ(engine_->under_way(), 0u);
  EXPECT_EQ(engine_->scheduler().under_way(), 0);
  EXPECT_EQ(engine_->scheduler().running(), 0);
}

TEST_P(EngineWatch, AnEngineWithAThreadWatchesItself) {
  engine_->start();
  Stream stream = *engine_->submit(seeded_request(3, 20));
  blocked_.wait();
  now_.store(2000);
  while (stream.next()) continue;
  EXPECT_EQ(stream.outcome().error->message(), message_);
  released_.count_down();
  engine_->stop();
  EXPECT_EQ(told_, std::vector{message_});
}

/// A thread that waits for the end of a step is told of a step that is given up, too.
TEST_P(EngineWatch, WhoWaitsForTheEndOfTheStepIsToldToo) {
  engine_->start();
  std::thread other([this] { EXPECT_THROW(for (;;) engine_->between_steps([] {}), Error); });
  Stream stream = *engine_->submit(seeded_request(3, 20));
  give_up();
  other.join();
  released_.count_down();
}

TEST_P(EngineWatch, HowLongAStepTakesIsSeenWhileItIsUnderWay) {
  Stream stream = *engine_->submit(seeded_request(3, 20));
  engine_->step();
  now_.store(1001);
  EXPECT_EQ(engine_->step_seconds_now(), 0) << "between steps";
  std::thread stepper([this] {
    while (engine_->step()) continue;
  });
  blocked_.wait();
  EXPECT_EQ(engine_->step_seconds_now(), 0);
  now_.store(1008);
  EXPECT_EQ(engine_->step_seconds_now(), 7);
  released_.count_down();
  stepper.join();
  EXPECT_EQ(engine_->step_seconds_now(), 0);
}

TEST_P(EngineWatch, ADrainDoesNotWaitForAStepThatDoesNotEnd) {
  engine_->start();
  Stream stream = *engine_->submit(seeded_request(3, 20));
  blocked_.wait();
  engine_->begin_drain(5);
  now_.store(1006);
  EXPECT_FALSE(engine_->wait_drained());
  EXPECT_EQ(engine_->step_seconds_now(), 6) << "so a stop would wait for it";
  EXPECT_FALSE(stream.finished());
  released_.count_down();
  while (stream.next()) continue;
  EXPECT_EQ(stream.outcome().finish,
            std::get<1>(GetParam()) ? FinishReason::kError : FinishReason::kCancelled);
  EXPECT_FALSE(engine_->wait_drained()) << "by force";
}

/// A refused request counts as running for a moment. If the engine looks just then, its drain has
/// not ended, and it sleeps until a wake-up.
TEST(EngineDrain, WhoIsRefusedWakesTheEngineThatMayHaveCountedIt) {
  const auto engine = engine_on(std::make_unique<FakeDevice>(), {});
  engine->begin_drain(kNever);
  EXPECT_TRUE(engine->wakes());
  EXPECT_FALSE(engine->advance());
  EXPECT_FALSE(engine->wakes());
  EXPECT_FALSE(engine->submit(seeded_request(3, 5)).has_value());
  EXPECT_TRUE(engine->wakes());
  EXPECT_FALSE(engine->advance());
  EXPECT_TRUE(engine->wait_drained());
}

/// What a turn takes is seen while it lasts, whatever it does: planning and errands too.
TEST(EngineTurns, HowLongTheyLastIsSeenFromOutside) {
  double now = 0;
  double in_a_step = 0;
  std::unique_ptr<Engine> engine;
  const auto slow = [&](int) {
    now += 7;
    in_a_step = engine->tick_seconds_now();
  };
  engine = engine_on(std::make_unique<FakeDevice>(slow), {.now = [&] { return now; }});
  EXPECT_EQ(engine->tick_seconds_now(), 0);
  const Stream stream = *engine->submit(seeded_request(3, 1));
  EXPECT_EQ(engine->tick_seconds_now(), 0);
  while (engine->step()) continue;
  EXPECT_EQ(in_a_step, 7);
  EXPECT_EQ(engine->tick_seconds_now(), 0);
}

/// A reader's callback that throws harms neither its own request nor others in the same steps.
TEST(EngineNotify, WhatAReaderThrowsIsLost) {
  const auto engine = engine_on(std::make_unique<FakeDevice>(), {});
  int calls = 0, ends = 0;
  Request request = seeded_request(3, 5);
  request.notify = [&](bool is_urgent) {
    ++calls;
    ends += is_urgent ? 1 : 0;
    throw std::bad_alloc();
  };
  Stream stream = *engine->submit(std::move(request));
  Stream other = *engine->submit(seeded_request(8, 5));
  while (engine->step()) continue;
  EXPECT_EQ(calls, 6) << "five tokens and the end";
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(read_ids(stream), expected_ids(3, 5));
  EXPECT_EQ(stream.outcome().finish, FinishReason::kLength);
  EXPECT_EQ(read_ids(other), expected_ids(8, 5));
}

TEST(EngineNotify, WhatHasEndedIsCountedAndHoldsNothing) {
  EngineMetrics metrics;
  const auto engine =
      engine_on(std::make_unique<FakeDevice>(), {.waiting_max = 1, .observer = &metrics});
  int ends = 0;
  Request request = seeded_request(3, 5);
  request.notify = [&](bool is_urgent) {
    if (!is_urgent) return;
    ++ends;
    EXPECT_EQ(metrics.snapshot().finished_by(FinishReason::kLength), 1u);
    EXPECT_EQ(metrics.snapshot().generation_tokens, 5u);
    EXPECT_EQ(engine->under_way(), 0u);
    EXPECT_TRUE(engine->submit(seeded_request(8, 1))) << "its place in the line is free";
  };
  const Stream stream = *engine->submit(std::move(request));
  while (engine->step()) continue;
  EXPECT_EQ(ends, 1);
}

/// An engine whose steps all fail from call number `first` of `run` on.
std::unique_ptr<Engine> failing_engine(int first, FakeDevice::Hook on_failure,
                                       const EngineOptions& options) {
  const auto fail = [first, on_failure = std::move(on_failure)](int call) {
    if (call < first) return;
    if (on_failure) on_failure(call);
    throw Error(ErrorCode::kInternal, "the device is lost");
  };
  return engine_on(std::make_unique<FakeDevice>(fail), options);
}

TEST(EngineFailure, ARequestThatComesInMeanwhileEndsOrIsRefused) {
  std::unique_ptr<Engine> engine;
  std::optional<Stream> meanwhile, afterwards;
  engine = failing_engine(
      2, [&](int) { meanwhile = engine->submit(seeded_request(8, 5)); },
      {.failed = [&](const Error&) { afterwards = engine->submit(seeded_request(9, 5)); }});
  Stream stream = *engine->submit(seeded_request(3, 20));
  while (engine->step()) continue;
  ASSERT_TRUE(meanwhile && meanwhile->finished());
  EXPECT_EQ(meanwhile->outcome().error->message(), "the device is lost");
  EXPECT_FALSE(afterwards);
  EXPECT_EQ(engine->under_way(), 0u);
  try {
    engine->require_alive();
    FAIL() << "it has failed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal) << "exit code 70";
    EXPECT_EQ(error.message(), "the engine cannot continue: the device is lost");
  }
}

/// A stream without an end would be read for ever.
TEST(EngineFailure, EveryStreamEndsHoweverManySubmitWhileItFails) {
  for (int round = 0; round < 50; ++round) {
    const auto engine = failing_engine(20, {}, {});
    engine->start();
    std::vector<std::thread> senders;
    for (std::uint64_t t = 0; t < 3; ++t) {
      senders.emplace_back([&engine, t] {
        std::vector<Stream> streams;
        while (!engine->has_failed()) {
          if (auto stream = engine->submit(seeded_request(t, 2))) {
            streams.push_back(std::move(*stream));
          }
        }
        for (Stream& stream : streams) {
          while (stream.next()) continue;
          EXPECT_NE(stream.outcome().finish, FinishReason::kCancelled);
        }
      });
    }
    for (std::thread& sender : senders) sender.join();
    engine->stop();
    EXPECT_EQ(engine->under_way(), 0u);
  }
}

}  // namespace
}  // namespace ingot::testing_support
