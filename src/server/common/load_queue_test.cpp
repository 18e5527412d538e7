// Tests of the limits on requests that wait for loads.
#include "server/common/load_queue.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(LoadQueue, AdaptersAreLimited) {
  LoadQueue queue(2, 100);
  auto a = queue.enter({"a"}, 0);
  auto b = queue.enter({"b"}, 0);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(queue.enter({"c"}, 0), nullptr);
  EXPECT_EQ(queue.enter({"a", "c"}, 0), nullptr);
  auto again = queue.enter({"a", "b"}, 0);
  EXPECT_NE(again, nullptr) << "others wait for both";
  a.reset();
  EXPECT_EQ(queue.enter({"c"}, 0), nullptr) << "a request still waits for it";
  again.reset();
  EXPECT_NE(queue.enter({"c"}, 0), nullptr);
}

TEST(LoadQueue, ARequestOfManyAdaptersWaitsAlone) {
  LoadQueue queue(2, 100);
  auto many = queue.enter({"a", "b", "c"}, 0);
  ASSERT_NE(many, nullptr);
  EXPECT_EQ(queue.enter({"d"}, 0), nullptr);
}

TEST(LoadQueue, RequestsAreLimited) {
  LoadQueue queue(8, 2);
  auto first = queue.enter({"a"}, 0);
  auto second = queue.enter({"a"}, 0);
  EXPECT_EQ(queue.enter({"a"}, 0), nullptr);
  second.reset();
  EXPECT_NE(queue.enter({"a"}, 0), nullptr);
}

TEST(LoadQueue, AKeyHasHalfOfTheAdapters) {
  LoadQueue queue(6, 100);
  const auto a = queue.enter({"a"}, 1), b = queue.enter({"b"}, 1);
  auto c = queue.enter({"c"}, 1);
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(queue.enter({"d"}, 1), nullptr);
  EXPECT_NE(queue.enter({"a", "c"}, 1), nullptr) << "the key waits for both";
  const auto d = queue.enter({"d"}, 2);
  EXPECT_NE(d, nullptr);
  EXPECT_EQ(queue.enter({"d"}, 1), nullptr) << "another key waits for it";
  c.reset();
  EXPECT_NE(queue.enter({"d"}, 1), nullptr);
}

TEST(LoadQueue, AKeyHasHalfOfTheRequests) {
  LoadQueue queue(8, 5);
  const auto first = queue.enter({"a"}, 1);
  auto second = queue.enter({}, 1);  // an operator's load
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(queue.enter({"a"}, 1), nullptr);
  EXPECT_EQ(queue.enter({}, 1), nullptr);
  const auto other = queue.enter({"a"}, 2);
  EXPECT_NE(other, nullptr);
  second.reset();
  EXPECT_NE(queue.enter({}, 1), nullptr);
}

TEST(LoadQueue, TheOnlyRequestOfAKeyMayBeLarge) {
  LoadQueue queue(4, 1);
  EXPECT_NE(queue.enter({"a", "b", "c"}, 1), nullptr);
}

TEST(LoadQueue, ClientsWithoutKeysShareAllPlaces) {
  LoadQueue queue(4, 4);
  std::vector<std::shared_ptr<const void>> places;
  for (const char* name : {"a", "b", "c", "d"}) places.push_back(queue.enter({name}, 0));
  EXPECT_NE(places.back(), nullptr);
}

}  // namespace
}  // namespace ingot
