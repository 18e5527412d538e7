// Tests of Waker: one wake-up at a time, and what wakes a connection that gathers.
#include "server/http/waker.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace ingot {
namespace {

class WakerTest : public ::testing::Test {
 protected:
  /// Wake-ups since the last call.
  int woken() {
    io_.restart();
    io_.poll();
    return std::exchange(woken_, 0);
  }

  int woken_ = 0;
  boost::asio::io_context io_;
  std::shared_ptr<Waker> waker_ = std::make_shared<Waker>(io_.get_executor(), [this] { ++woken_; });
};

TEST_F(WakerTest, NotificationsTogetherWakeOnce) {
  for (int i = 0; i < 5; ++i) waker_->notify(false);
  EXPECT_EQ(woken(), 1);
  waker_->notify(false);
  EXPECT_EQ(woken(), 1);
}

TEST_F(WakerTest, OnlyUrgentOnesWakeAConnectionThatGathers) {
  ASSERT_TRUE(waker_->begin_gathering());
  waker_->notify(false);
  EXPECT_EQ(woken(), 0);
  waker_->notify(true);
  EXPECT_EQ(woken(), 1);
  waker_->end_gathering();
  waker_->notify(false);
  EXPECT_EQ(woken(), 1);
}

TEST_F(WakerTest, AnUrgentOneBeforeGatheringIsNotMissed) {
  waker_->notify(true);
  EXPECT_EQ(woken(), 1);
  EXPECT_FALSE(waker_->begin_gathering());
  waker_->notify(false);
  EXPECT_EQ(woken(), 1) << "it does not gather";
  EXPECT_TRUE(waker_->begin_gathering());
}

TEST_F(WakerTest, TheWakerLivesAsLongAsAWakeUpIsOnItsWay) {
  waker_->notify(true);
  waker_.reset();
  EXPECT_EQ(woken(), 1);
}

}  // namespace
}  // namespace ingot
