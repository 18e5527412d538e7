// Errands: calls run in another thread, and their callers learn how they ended.
#include "runtime/errands.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "base/error.h"

namespace ingot {
namespace {

class ErrandsTest : public ::testing::Test {
 protected:
  Doorbell bell_;
  Errands errands_{bell_};
};

TEST_F(ErrandsTest, ACallRunsInTheOtherThreadAndThrowsInItsOwn) {
  std::thread::id ran_in;
  std::thread caller([&] {
    errands_.call([&] { ran_in = std::this_thread::get_id(); });
    EXPECT_THROW(errands_.call([] { throw std::runtime_error("no"); }), std::runtime_error);
  });
  bell_.wait();
  errands_.run();
  bell_.wait();
  errands_.run();
  caller.join();
  EXPECT_EQ(ran_in, std::this_thread::get_id());
}

TEST_F(ErrandsTest, CallsInTheQueueStillRunAfterItIsClosed) {
  bool ran = false;
  std::thread caller([&] { errands_.call([&] { ran = true; }); });
  bell_.wait();
  errands_.close();
  errands_.run();
  caller.join();
  EXPECT_TRUE(ran);
  EXPECT_THROW(errands_.call([] {}), Error);
}

TEST_F(ErrandsTest, DroppedCallsEndWithAnError) {
  std::thread caller([&] {
    try {
      errands_.call([] { FAIL() << "it was dropped"; });
      FAIL() << "its caller is told";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    }
  });
  bell_.wait();
  errands_.drop();
  caller.join();
  errands_.run();
}

}  // namespace
}  // namespace ingot
