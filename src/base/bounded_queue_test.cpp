// Tests of BoundedQueue: order, limit, closing, many threads.
#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "base/index.h"

namespace ingot {
namespace {

TEST(BoundedQueue, KeepsOrderAndItsBound) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.try_push(1));
  EXPECT_TRUE(queue.try_push(2));
  EXPECT_FALSE(queue.try_push(3));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.try_push(4));
  EXPECT_EQ(queue.try_pop(), 2);
  EXPECT_EQ(queue.pop(), 4);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
}

TEST(BoundedQueue, AQueueWithoutRoomTakesNothing) {
  BoundedQueue<int> queue(0);
  EXPECT_FALSE(queue.try_push(1));
}

TEST(BoundedQueue, ClosingRefusesButDrains) {
  BoundedQueue<int> queue(4);
  ASSERT_TRUE(queue.try_push(7));
  queue.close();
  EXPECT_TRUE(queue.is_closed());
  EXPECT_FALSE(queue.try_push(8));
  EXPECT_EQ(queue.pop(), 7);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_EQ(queue.try_pop(), std::nullopt);
}

TEST(BoundedQueue, ClosingWakesEverybodyWhoWaits) {
  BoundedQueue<int> queue(1);
  std::vector<std::thread> waiting;
  waiting.reserve(3);
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&] { EXPECT_EQ(queue.pop(), std::nullopt); });
  }
  queue.close();
  for (std::thread& thread : waiting) thread.join();
}

TEST(BoundedQueue, TakesWhatCanOnlyBeMoved) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  ASSERT_TRUE(queue.try_push(std::make_unique<int>(5)));
  const auto item = queue.pop();
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(**item, 5);
}

TEST(BoundedQueue, GivesBackWhatItHasNoRoomFor) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  ASSERT_TRUE(queue.try_push(std::make_unique<int>(5)));
  auto item = std::make_unique<int>(6);
  EXPECT_FALSE(queue.try_push(std::move(item)));
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 6);
  queue.close();
  EXPECT_FALSE(queue.try_push(std::move(item)));
  EXPECT_NE(item, nullptr);
}

TEST(BoundedQueue, ManyProducersAndConsumersLoseAndRepeatNothing) {
  constexpr int kThreads = 3;
  constexpr int kEach = 2000;
  BoundedQueue<int> queue(16);
  std::vector<std::vector<int>> got(kThreads);
  std::vector<std::thread> consumers;
  consumers.reserve(kThreads);
  for (auto& mine : got) {
    consumers.emplace_back([&queue, &mine] {
      while (const auto item = queue.pop()) mine.push_back(*item);
    });
  }
  std::vector<std::thread> producers;
  producers.reserve(kThreads);
  for (int p = 0; p < kThreads; ++p) {
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < kEach; ++i) {
        while (!queue.try_push(p * kEach + i)) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : producers) thread.join();
  queue.close();
  for (std::thread& thread : consumers) thread.join();
  std::vector<int> seen(kThreads * kEach);
  for (const auto& mine : got) {
    std::vector<int> last(kThreads, -1);
    for (const int item : mine) {
      ++at(seen, item);
      int& before = at(last, item / kEach);
      EXPECT_LT(before, item) << "one producer's items overtook each other";
      before = item;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), kThreads * kEach);
}

}  // namespace
}  // namespace ingot
