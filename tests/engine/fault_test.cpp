// Engine: devices that fail late.
#include <algorithm>
#include <initializer_list>

#include "base/error.h"
#include "engine/fake_device.h"

namespace ingot::testing_support {
namespace {

Request some_request(std::uint64_t seed, std::int64_t tokens) {
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

/// Engines that plan as many steps ahead as the parameter says.
class EngineFaults : public testing::TestWithParam<int> {
 protected:
  /// On a device whose calls of `wait` with these numbers fail.
  void make_engine(std::initializer_list<int> late, EngineOptions options = {}) {
    auto device =
        std::make_unique<FakeDevice>(FakeDevice::Hook{}, [calls = std::vector(late)](int n) {
          if (std::count(calls.begin(), calls.end(), n) > 0) {
            throw Error(ErrorCode::kInternal, cat("wait ", n, " failed"));
          }
        });
    device_ = device.get();
    options.pipeline_depth = GetParam();
    engine_ = engine_on(std::move(device), options);
  }

  FakeDevice* device_ = nullptr;
  std::unique_ptr<Engine> engine_;
};

INSTANTIATE_TEST_SUITE_P(Depths, EngineFaults, testing::Values(1, 2));

TEST_P(EngineFaults, AStepThatFailsLateIsRunAgainAndChangesNothing) {
  make_engine({0, 4, 9});
  std::vector<Stream> streams;
  for (const std::uint64_t seed : {3u, 8u})
    streams.push_back(*engine_->submit(some_request(seed, 20)));
  while (engine_->step()) continue;
  EXPECT_EQ(read_ids(streams[0]), expected_ids(3, 20));
  EXPECT_EQ(read_ids(streams[1]), expected_ids(8, 20));
  EXPECT_FALSE(engine_->has_failed());
  EXPECT_EQ(device_->drains(), 3);
  EXPECT_GE(device_->again(), 3) << "with it those that went on with its tokens";
}

TEST_P(EngineFaults, AStepThatFailsLateTwiceEndsEverythingOnce) {
  std::vector<std::string> told;
  make_engine({4, 5}, {.failed = [&](const Error& e) { told.push_back(e.message()); }});
  std::vector<Stream> streams;
  for (const std::uint64_t seed : {3u, 8u})
    streams.push_back(*engine_->submit(some_request(seed, 20)));
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
  EXPECT_FALSE(engine_->submit(some_request(1, 1)).has_value());
}

TEST_P(EngineFaults, AStopWaitsForWhatIsUnderWay) {
  make_engine({});
  Stream stream = *engine_->submit(some_request(3, 20));
  for (int i = 0; i < 5; ++i) engine_->step();
  engine_->stop();
  EXPECT_EQ(engine_->scheduler().under_way(), 0);
  EXPECT_EQ(device_->drains(), GetParam() - 1) << "nothing is under way between steps at depth 1";
  read_ids(stream);
  EXPECT_EQ(stream.outcome().finish, FinishReason::kCancelled);
}

}  // namespace
}  // namespace ingot::testing_support
