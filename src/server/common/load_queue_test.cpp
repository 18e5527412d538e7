// Tests of the limits on requests that wait for loads.
#include "server/common/load_queue.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(LoadQueue, AdaptersAreLimited) {
  LoadQueue queue(2, 100);
  auto a = queue.enter({"a"});
  auto b = queue.enter({"b"});
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(queue.enter({"c"}), nullptr);
  EXPECT_EQ(queue.enter({"a", "c"}), nullptr);
  auto again = queue.enter({"a", "b"});
  EXPECT_NE(again, nullptr) << "others wait for both";
  a.reset();
  EXPECT_EQ(queue.enter({"c"}), nullptr) << "a request still waits for it";
  again.reset();
  EXPECT_NE(queue.enter({"c"}), nullptr);
}

TEST(LoadQueue, ARequestOfManyAdaptersWaitsAlone) {
  LoadQueue queue(2, 100);
  auto many = queue.enter({"a", "b", "c"});
  ASSERT_NE(many, nullptr);
  EXPECT_EQ(queue.enter({"d"}), nullptr);
}

TEST(LoadQueue, RequestsAreLimited) {
  LoadQueue queue(8, 2);
  auto first = queue.enter({"a"});
  auto second = queue.enter({"a"});
  EXPECT_EQ(queue.enter({"a"}), nullptr);
  second.reset();
  EXPECT_NE(queue.enter({"a"}), nullptr);
}

}  // namespace
}  // namespace ingot
