// The pool's order, counts and revival of free blocks, by hand and against a naive model.
#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace ingot {
namespace {

TEST(BlockPool, GivesTheLeastRecentlyFreedBlock) {
  BlockPool pool(3);
  EXPECT_EQ(pool.allocate(), 0);
  EXPECT_EQ(pool.allocate(), 1);
  pool.release(1);
  pool.release(0);
  EXPECT_EQ(pool.allocate(), 2);
  EXPECT_EQ(pool.allocate(), 1);
  EXPECT_EQ(pool.allocate(), 0);
  EXPECT_EQ(pool.allocate(), std::nullopt);
}

TEST(BlockPool, RetainRevivesAFreeBlockFromTheMiddle) {
  BlockPool pool(3);
  pool.retain(1);
  EXPECT_EQ(pool.free(), 2);
  EXPECT_EQ(pool.allocate(), 0);
  EXPECT_EQ(pool.allocate(), 2);
  EXPECT_EQ(pool.allocate(), std::nullopt);
}

TEST(BlockPool, AnEmptyPoolHasNothing) {
  BlockPool pool(0);
  EXPECT_EQ(pool.allocate(), std::nullopt);
  pool.check();
}

TEST(BlockPoolDeathTest, ReleasingAFreeBlockIsABug) {
  BlockPool pool(2);
  EXPECT_DEATH(pool.release(1), "block 1 is free already");
  EXPECT_DEATH(pool.retain(2), "block 2 of 2");
}

TEST(BlockPool, AgreesWithANaiveModelUnderRandomUse) {
  constexpr std::int32_t kBlocks = 13;
  BlockPool pool(kBlocks);
  std::deque<std::int32_t> free;
  std::vector<std::int32_t> references(kBlocks);
  for (std::int32_t b = 0; b < kBlocks; ++b) free.push_back(b);
  std::mt19937 rng(7);
  for (int i = 0; i < 20000; ++i) {
    const auto b = static_cast<std::int32_t>(rng() % kBlocks);
    auto& count = references[static_cast<std::size_t>(b)];
    switch (rng() % 3) {
      case 0: {
        const auto got = pool.allocate();
        ASSERT_EQ(got.has_value(), !free.empty());
        if (!got) break;
        ASSERT_EQ(*got, free.front());
        free.pop_front();
        references[static_cast<std::size_t>(*got)] = 1;
        break;
      }
      case 1:
        pool.retain(b);
        if (count++ == 0) free.erase(std::find(free.begin(), free.end(), b));
        break;
      default:
        if (count == 0) break;
        pool.release(b);
        if (--count == 0) free.push_back(b);
    }
    ASSERT_EQ(pool.free(), static_cast<std::int32_t>(free.size()));
    ASSERT_EQ(pool.references(b), count);
    pool.check();
  }
}

}  // namespace
}  // namespace ingot
