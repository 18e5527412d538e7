// StepGuard: retries, failures, and calls that another thread gives up.
#include "runtime/step_guard.h"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <thread>
#include <vector>

namespace ingot {
namespace {

Error broken(const std::string& why) { return {ErrorCode::kInternal, why}; }

class StepGuardTest : public ::testing::Test {
 protected:
  bool attempt(FunctionRef<void(bool)> body) {
    return guard_.attempt(body, [this](const Error& e) { failures_.push_back(e.message()); });
  }
  bool watch() {
    return guard_.watch([this](const Error& e) { failures_.push_back(e.message()); });
  }

  double now_ = 100;
  Clock clock_ = [this] { return now_; };
  StepGuard guard_{clock_, 5};
  std::vector<std::string> failures_;
};

TEST_F(StepGuardTest, AFailedCallIsRetriedOnce) {
  std::vector<bool> calls;
  EXPECT_TRUE(attempt([&](bool is_retry) {
    calls.push_back(is_retry);
    if (!is_retry) throw broken("once");
  }));
  EXPECT_EQ(calls, (std::vector{false, true}));
  EXPECT_TRUE(failures_.empty());
  guard_.require_alive();
}

TEST_F(StepGuardTest, TwoErrorsAreAFailureThatStays) {
  EXPECT_FALSE(attempt([](bool) { throw broken("twice"); }));
  EXPECT_FALSE(attempt([](bool) {})) << "no call succeeds afterwards";
  EXPECT_FALSE(attempt([](bool) { throw broken("again"); }));
  EXPECT_EQ(failures_, std::vector<std::string>{"twice"});
  EXPECT_TRUE(guard_.has_failed());
  EXPECT_THROW(guard_.require_alive(), Error);
}

TEST_F(StepGuardTest, MissingMemoryIsNoFailure) {
  EXPECT_THROW(attempt([](bool) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_FALSE(guard_.has_failed());
  EXPECT_TRUE(attempt([](bool is_retry) {
    if (!is_retry) throw std::bad_alloc();
  }));
}

TEST_F(StepGuardTest, ACallWithinTheLimitIsLeftAlone) {
  EXPECT_FALSE(watch()) << "no call is under way";
  EXPECT_TRUE(attempt([this](bool) {
    now_ += 4;
    EXPECT_FALSE(watch());
  }));
  now_ += 100;
  EXPECT_FALSE(watch()) << "the call is over";
}

TEST_F(StepGuardTest, ACallBeyondTheLimitIsGivenUpOnce) {
  EXPECT_FALSE(attempt([this](bool is_retry) {
    EXPECT_FALSE(is_retry);
    now_ += 6;
    std::thread([this] {
      EXPECT_TRUE(watch());
      EXPECT_TRUE(watch());
    }).join();
  }));
  EXPECT_EQ(failures_, std::vector<std::string>{"a step takes longer than 5 s"});
}

TEST_F(StepGuardTest, AStepsTimeBeginsWithItsFirstCall) {
  EXPECT_FALSE(guard_.is_in_step());
  EXPECT_TRUE(attempt([](bool) {}));
  now_ += 2;
  guard_.call([this] { EXPECT_EQ(guard_.step_seconds(now_), 2); });
  EXPECT_TRUE(guard_.is_in_step());
  guard_.end_step();
  EXPECT_EQ(guard_.step_seconds(now_ + 1), 0);
}

}  // namespace
}  // namespace ingot
