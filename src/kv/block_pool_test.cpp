// Tests of BlockPool's order, counts and evictions, by hand and against a naive model.
#include "kv/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "base/index.h"

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

TEST(BlockPool, CountsReferencesCachedBlocksAndEvictions) {
  BlockPool pool(2);
  const std::int32_t first = *pool.allocate(), second = *pool.allocate();
  pool.retain(first);
  EXPECT_EQ(pool.references(), 3);
  pool.set_owner(first, 0);
  pool.set_owner(second, 0);
  EXPECT_EQ(pool.cached(), 2);
  pool.release(second);
  EXPECT_EQ(pool.references(), 2);
  EXPECT_EQ(pool.cached(), 2);
  EXPECT_EQ(pool.evictions(), 0);
  EXPECT_EQ(pool.allocate(), second);
  EXPECT_EQ(pool.cached(), 1);
  EXPECT_EQ(pool.evictions(), 1);
  pool.set_owner(first, BlockPool::kNoOwner);
  EXPECT_EQ(pool.cached(), 0);
  EXPECT_EQ(pool.evictions(), 1);
  pool.check();
}

/// A block is idle while all its holders are.
TEST(BlockPool, CountsBlocksThatOnlyIdleSequencesHold) {
  BlockPool pool(3);
  const std::int32_t shared = *pool.allocate(), own = *pool.allocate();
  pool.retain(shared);
  pool.mark_idle(shared);
  EXPECT_EQ(pool.idle(), 0);
  pool.mark_idle(shared);
  pool.mark_idle(own);
  EXPECT_EQ(pool.idle(), 2);
  pool.retain(shared);
  EXPECT_EQ(pool.idle(), 1);
  EXPECT_FALSE(pool.is_idle(shared));
  pool.release(shared);
  EXPECT_TRUE(pool.is_idle(shared));
  pool.unmark_idle(own);
  pool.release(own);
  EXPECT_EQ(pool.idle(), 1);
  pool.check();
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

TEST(BlockPoolDeathTest, MoreIdleReferencesThanReferencesAreABug) {
  BlockPool pool(2);
  EXPECT_DEATH(pool.mark_idle(1), "block 1 has 0 references, and all are idle");
  EXPECT_DEATH(pool.unmark_idle(1), "block 1 has no idle reference");
}

class KnownBlocks : public testing::Test {
 protected:
  static constexpr std::int32_t kBlocks = 9;

  KnownBlocks() {
    pool_.set_owners(3);
    pool_.on_evict([this](std::int32_t block) { evicted_.push_back(pool_.owner(block)); });
  }
  /// Makes `blocks` evictable blocks of an owner; blocks with lower numbers are released first.
  void keep(std::int32_t owner, int blocks) {
    for (; blocks > 0; --blocks) {
      const std::int32_t block = *pool_.allocate();
      pool_.set_owner(block, owner);
      pool_.release(block);
    }
  }

  BlockPool pool_{kBlocks};
  std::vector<std::int32_t> evicted_;  ///< owners
};

TEST_F(KnownBlocks, TheOwnerOfMostGivesWhatWasReleasedFirst) {
  keep(0, 3);
  keep(1, 5);
  keep(2, 1);
  EXPECT_EQ(pool_.allocate(), 3) << "the first one of owner 1";
  EXPECT_EQ(pool_.allocate(), 4);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(pool_.allocate());
  EXPECT_EQ(evicted_, (std::vector{1, 1, 1, 0, 1, 0, 2, 1}));
  pool_.check();
}

TEST_F(KnownBlocks, NobodyIsFlushedBelowItsShare) {
  keep(0, 3);
  for (int i = 0; i < 100; ++i) keep(1, 1);
  EXPECT_EQ(std::count(evicted_.begin(), evicted_.end(), 0), 0);
  for (int i = 0; i < 100; ++i) keep(2, 1);
  EXPECT_EQ(std::count(evicted_.begin(), evicted_.end(), 0), 0);
  pool_.check();
}

TEST_F(KnownBlocks, WhatIsHeldCountsButIsNotGiven) {
  keep(0, 4);
  keep(1, 5);
  for (const std::int32_t block : {4, 5, 6, 7}) pool_.retain(block);
  EXPECT_EQ(pool_.allocate(), 8) << "owner 1 has five blocks, and one to give";
  EXPECT_EQ(pool_.allocate(), 0);
  for (const std::int32_t block : {4, 5}) pool_.release(block);
  EXPECT_EQ(pool_.allocate(), 4);
  pool_.check();
}

TEST_F(KnownBlocks, WhatNobodyKnowsAnyMoreIsFree) {
  keep(0, 9);
  EXPECT_EQ(pool_.evictable(), 9);
  pool_.set_owner(7, BlockPool::kNoOwner);
  EXPECT_EQ(pool_.free(), 1);
  EXPECT_EQ(pool_.allocate(), 7);
  EXPECT_TRUE(evicted_.empty());
  EXPECT_EQ(pool_.allocate(), 0);
  EXPECT_FALSE(pool_.is_indexed(0));
  pool_.check();
}

TEST(BlockPoolDeathTest, OwnersAreSetBeforeAnythingIsKnown) {
  BlockPool pool(2);
  pool.set_owner(1, 0);
  EXPECT_DEATH(pool.set_owner(0, 1), "owner 1 of 1");
  EXPECT_DEATH(pool.set_owners(2), "block 1 is known");
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
    auto& count = at(references, b);
    switch (rng() % 3) {
      case 0: {
        const auto got = pool.allocate();
        ASSERT_EQ(got.has_value(), !free.empty());
        if (!got) break;
        ASSERT_EQ(*got, free.front());
        free.pop_front();
        at(references, *got) = 1;
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
