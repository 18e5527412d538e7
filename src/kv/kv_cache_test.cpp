// Tests of KvCache: groups of layers, the blocks of sequences, and their release.
#include "kv/kv_cache.h"

#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"

namespace ingot {
namespace {

Attention layer(std::int32_t window, std::int32_t kv_heads = 2) {
  return {.heads = 4, .kv_heads = kv_heads, .head_dim = 8, .window = window};
}

std::vector<KvUse> uses(const std::vector<Attention>& layers) {
  std::vector<KvUse> all;
  for (const Attention& a : layers) all.push_back({a});
  return all;
}

class KvCacheTest : public testing::Test {
 protected:
  KvCache make(const std::vector<Attention>& layers, std::vector<std::int32_t> blocks) {
    return KvCache(backend_, kv_groups(backend_, uses(layers), KvType::kF16), KvType::kF16, blocks);
  }
  ThreadPool pool_{1};
  CpuBackend backend_{pool_, scalar_kernels()};
};

TEST_F(KvCacheTest, LayersOfEqualWindowAndGeometryShareAGroup) {
  const std::vector<Attention> layers{layer(0), layer(8), layer(0), layer(8), layer(0, 1)};
  const auto groups = kv_groups(backend_, uses(layers), KvType::kF16);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].layers, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(groups[1].layers, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(groups[1].window, 8);
  EXPECT_EQ(groups[2].layers, (std::vector<std::int32_t>{4}));
}

TEST_F(KvCacheTest, AReaderSharesThePagesOfItsSource) {
  std::vector<KvUse> layers = uses({layer(0), layer(8), layer(8), layer(0)});
  layers[2].source = 1;
  layers[3].source = 0;
  const auto groups = kv_groups(backend_, layers, KvType::kF16);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1].layers, (std::vector<std::int32_t>{1}));
  EXPECT_EQ(groups[1].bytes_per_block(), groups[1].block_bytes);
  const std::vector<std::int32_t> blocks{2, 3};
  KvCache cache(backend_, groups, KvType::kF16, blocks);
  EXPECT_EQ(cache.layer_count(), 4);
  EXPECT_EQ(cache.layer(2).pages, cache.layer(1).pages);
  EXPECT_EQ(cache.layer(2).group, 1);
  EXPECT_EQ(cache.layer(3).pages, cache.layer(0).pages);
  EXPECT_NE(cache.layer(0).pages, cache.layer(1).pages);
}

TEST_F(KvCacheTest, LayersOfOtherValuesAreAnotherGroup) {
  Attention narrow = layer(0);
  narrow.value_dim = 4;
  Attention latent = layer(0);
  latent.value_dim = 8;
  latent.values_in_keys = true;
  EXPECT_EQ(kv_groups(backend_, uses({layer(0), narrow, latent}), KvType::kF16).size(), 3u);
}

TEST_F(KvCacheTest, LayersHavePagesOfTheirOwn) {
  KvCache cache = make({layer(0), layer(0)}, {4});
  const KvLayer& a = cache.layer(0);
  const KvLayer& b = cache.layer(1);
  EXPECT_EQ(b.pages - a.pages, 4 * a.block_bytes);
  EXPECT_EQ(cache.pages(0).bytes(), 8 * a.block_bytes);
}

TEST_F(KvCacheTest, ASequenceReservesAllOrNothing) {
  KvCache cache = make({layer(0), layer(8)}, {4, 2});
  SequenceBlocks blocks(cache);
  EXPECT_TRUE(blocks.reserve(17));
  EXPECT_FALSE(blocks.reserve(33));
  EXPECT_EQ(cache.pool(0).free(), 2);
  EXPECT_EQ(blocks.slot(0, 16), blocks.table(0)[1] * 16);
}

TEST_F(KvCacheTest, AWindowForgetsOnlyWhatNoLaterRowSees) {
  KvCache cache = make({layer(8)}, {3});
  SequenceBlocks blocks(cache);
  ASSERT_TRUE(blocks.reserve(40));
  blocks.forget_before(22);  // sees keys from 15 on: block 0 is still needed
  EXPECT_EQ(cache.pool(0).free(), 0);
  blocks.forget_before(23);  // from 16 on
  EXPECT_EQ(cache.pool(0).free(), 1);
  EXPECT_EQ(blocks.table(0)[0], -1);
  EXPECT_TRUE(blocks.reserve(49));
}

TEST_F(KvCacheTest, TheBoundOfAWindowGroupHoldsForEveryStepSize) {
  for (const std::int32_t window : {1, 8, 16, 17, 100}) {
    for (const std::int64_t rows : {1, 3, 16, 33}) {
      KvCache cache = make({layer(window)}, {64});
      SequenceBlocks blocks(cache);
      for (std::int64_t at = 0; at < 300; at += rows) {
        ASSERT_TRUE(blocks.reserve(at + rows));
        const std::int32_t held = cache.pool(0).total() - cache.pool(0).free();
        EXPECT_LE(held, cache.group(0).blocks_for(at + rows, rows)) << window << " " << rows;
        blocks.forget_before(at + rows);
      }
    }
  }
}

TEST_F(KvCacheTest, TruncatingIntoAForgottenWindowIsABug) {
  KvCache cache = make({layer(8)}, {4});
  SequenceBlocks blocks(cache);
  ASSERT_TRUE(blocks.reserve(40));
  blocks.forget_before(40);
  EXPECT_FALSE(blocks.can_truncate(33));  // its row sees key 26, in block 1
  EXPECT_DEATH(blocks.truncate(33), "33 tokens, but a block of their window was given back");
  EXPECT_TRUE(blocks.can_truncate(39));
  EXPECT_TRUE(blocks.can_truncate(0));
  blocks.truncate(40);
  blocks.truncate(0);
  EXPECT_EQ(cache.pool(0).free(), 4);
}

TEST_F(KvCacheTest, ASharedBlockIsNotWrittenTo) {
  KvCache cache = make({layer(0)}, {4});
  SequenceBlocks blocks(cache);
  ASSERT_TRUE(blocks.reserve(20));
  cache.pool(0).retain(blocks.table(0)[1]);
  EXPECT_EQ(blocks.slot(0, 3), blocks.table(0)[0] * 16 + 3);
  EXPECT_DEATH(blocks.slot(0, 17), "shared");
  cache.pool(0).release(blocks.table(0)[1]);
}

TEST_F(KvCacheTest, ASequenceBeginsWithTheBlocksOfAnother) {
  KvCache cache = make({layer(0), layer(8)}, {5, 5});
  SequenceBlocks prefix(cache);
  ASSERT_TRUE(prefix.reserve(40));
  prefix.set_filled(40);
  prefix.forget_before(32);
  SequenceBlocks more(cache);
  more.share(prefix, 32);
  EXPECT_EQ(more.table(0)[1], prefix.table(0)[1]);
  EXPECT_EQ(more.table(1)[0], -1);
  EXPECT_EQ(cache.pool(0).references(prefix.table(0)[1]), 2);
  EXPECT_EQ(cache.pool(0).references(prefix.table(0)[2]), 1);
  ASSERT_TRUE(more.reserve(33));
  EXPECT_NE(more.table(0)[2], prefix.table(0)[2]);
  EXPECT_EQ(more.slot(0, 32), more.table(0)[2] * 16);
  EXPECT_DEATH(more.share(prefix, 16), "1 blocks into a table of 3");
  SequenceBlocks third(cache);
  EXPECT_DEATH(third.share(prefix, 41), "41 tokens to share of 40");
  prefix.truncate(0);
  EXPECT_EQ(cache.pool(0).references(more.table(0)[1]), 1);
  more.truncate(0);
  EXPECT_EQ(cache.pool(0).free(), 5);
  EXPECT_EQ(cache.pool(1).free(), 5);
}

/// A fork continues in its own copy of the last block; a write to a shared block copies it first.
TEST_F(KvCacheTest, APartlyFilledBlockIsCopiedBeforeItIsWritten) {
  KvCache cache = make({layer(0), layer(8)}, {6, 6});
  SequenceBlocks a(cache), b(cache), c(cache);
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(a.reserve(20));
  a.set_filled(20);
  ASSERT_TRUE(b.fork(a, 20, copies));
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0], (BlockCopy{.group = 0, .from = a.table(0)[1], .to = b.table(0)[1]}));
  EXPECT_EQ(b.slot(0, 19), -1) << "it is there already";
  EXPECT_EQ(b.slot(0, 20), b.table(0)[1] * 16 + 4);
  EXPECT_EQ(a.slot(0, 20), a.table(0)[1] * 16 + 4);
  c.share(a, 20);
  const std::int32_t shared = c.table(0)[1];
  ASSERT_TRUE(c.reserve(20, copies));
  EXPECT_EQ(copies.size(), 2u) << "nothing will be written";
  EXPECT_EQ(c.wanted(0, 21), 1);
  ASSERT_TRUE(c.reserve(21, copies));
  ASSERT_EQ(copies.size(), 4u);
  EXPECT_EQ(copies[2], (BlockCopy{.group = 0, .from = shared, .to = c.table(0)[1]}));
  EXPECT_EQ(cache.pool(0).references(shared), 2) << "it is still to be copied from";
  cache.begin_step();
  cache.end_step();
  EXPECT_EQ(a.slot(0, 20), shared * 16 + 4);
  SequenceBlocks d(cache);
  ASSERT_TRUE(d.reserve(2 * 16));
  EXPECT_FALSE(SequenceBlocks(cache).fork(a, 20, copies)) << "no block is left for the copy";
}

TEST_F(KvCacheTest, ACopyHasTheBytesOfAllLayers) {
  KvCache cache = make({layer(0), layer(0), layer(8)}, {3, 3});
  const auto fill = [&](std::int64_t i, std::int32_t block, char value) {
    const KvLayer& kv = cache.layer(i);
    std::fill_n(kv.pages + block * kv.block_bytes, kv.block_bytes, std::byte(value));
  };
  const auto first = [&](std::int64_t i, std::int32_t block) {
    return static_cast<char>(cache.layer(i).pages[block * cache.layer(i).block_bytes]);
  };
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int32_t b = 0; b < 3; ++b) fill(i, b, static_cast<char>(10 * i + b));
  }
  const std::vector<BlockCopy> copies{{0, 1, 2}, {0, 0, 1}};
  cache.copy(copies);
  for (std::int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(first(i, 2), 10 * i + 1) << "in the order in which they are given";
    EXPECT_EQ(first(i, 1), 10 * i);
  }
  EXPECT_EQ(first(2, 2), 22);
}

TEST_F(KvCacheTest, WhatStepsUnderWayMayReadIsReleasedWithTheLastOfThem) {
  KvCache cache = make({layer(0)}, {4});
  SequenceBlocks a(cache), b(cache);
  ASSERT_TRUE(a.reserve(16));
  ASSERT_TRUE(b.reserve(16));
  cache.begin_step();
  a.truncate(0);
  cache.begin_step();
  b.truncate(0);
  EXPECT_EQ(cache.pool(0).free(), 2);
  EXPECT_EQ(cache.releasing(0), 2);
  cache.end_step();
  EXPECT_EQ(cache.pool(0).free(), 3);
  cache.end_step();
  EXPECT_EQ(cache.pool(0).free(), 4);
}

TEST_F(KvCacheTest, AnAssignmentGivesBackWhatWasHeld) {
  KvCache cache = make({layer(0), layer(8)}, {8, 8});
  SequenceBlocks a(cache), b(cache);
  ASSERT_TRUE(a.reserve(40));
  ASSERT_TRUE(b.reserve(70));
  b.forget_before(64);
  const std::int32_t last = b.table(0)[4];
  a = std::move(b);
  EXPECT_EQ(a.table(0)[4], last);
  EXPECT_EQ(a.held(0), 5);
  EXPECT_EQ(a.held(1), 2);
  EXPECT_EQ(cache.pool(0).free(), 3);
  EXPECT_EQ(cache.pool(1).free(), 6);
}

TEST_F(KvCacheTest, HeldBlocksAreCountedAsTheyComeAndGo) {
  KvCache cache = make({layer(8)}, {20});
  SequenceBlocks a(cache), b(cache), c(cache);
  std::vector<BlockCopy> copies;
  ASSERT_TRUE(a.reserve(100));
  a.set_filled(100);
  a.forget_before(55);  // sees keys from 48 on
  a.forget_before(55);
  EXPECT_EQ(a.held(0), 4);
  b.share(a, 80);
  EXPECT_EQ(b.held(0), 2) << "keys 48 to 79";
  ASSERT_TRUE(c.fork(a, 100, copies));
  EXPECT_EQ(c.held(0), 4);
  b.replace(0, 1, c.table(0)[3]);
  EXPECT_EQ(b.held(0), 3);
  b.forget_before(55);
  EXPECT_EQ(b.held(0), 2) << "what came back is forgotten again";
  a.truncate(60);
  EXPECT_EQ(a.held(0), 1);
  ASSERT_TRUE(a.reserve(120, copies));
  EXPECT_EQ(a.held(0), 5);
  a.forget_before(103);
  EXPECT_EQ(a.held(0), 2);
}

/// Blocks that a window forgets, a truncation drops or an assignment moves keep the count right.
TEST_F(KvCacheTest, TheBlocksOfAnIdleSequenceAreCountedAsTheyComeAndGo) {
  KvCache cache = make({layer(0), layer(8)}, {6, 6});
  SequenceBlocks idle(cache), other(cache);
  ASSERT_TRUE(idle.reserve(48));
  idle.set_filled(48);
  other.share(idle, 16);
  idle.set_idle(true);
  EXPECT_EQ(cache.pool(0).idle(), 2);
  EXPECT_EQ(cache.pool(1).idle(), 2);
  idle.forget_before(40);
  EXPECT_EQ(cache.pool(1).idle(), 1);
  const std::int32_t equal = *cache.pool(0).allocate();
  idle.replace(0, 2, equal);
  EXPECT_EQ(cache.pool(0).idle(), 1);  // the replacement has two holders
  cache.pool(0).release(equal);
  EXPECT_EQ(cache.pool(0).idle(), 2);
  other = std::move(idle);
  EXPECT_TRUE(other.is_idle());
  EXPECT_EQ(cache.pool(0).idle(), 3);
  other.truncate(0);
  EXPECT_EQ(cache.pool(0).idle() + cache.pool(1).idle(), 0);
  for (std::int32_t g = 0; g < cache.groups(); ++g) cache.pool(g).check();
}

TEST_F(KvCacheTest, AnIdleSequenceThatReservesBlocksIsABug) {
  KvCache cache = make({layer(0)}, {4});
  SequenceBlocks blocks(cache);
  blocks.set_idle(true);
  EXPECT_DEATH(static_cast<void>(blocks.reserve(1)), "an idle sequence reserves blocks");
}

TEST_F(KvCacheTest, EverythingComesBack) {
  KvCache cache = make({layer(0), layer(8)}, {8, 8});
  {
    SequenceBlocks a(cache);
    ASSERT_TRUE(a.reserve(100));
    a.truncate(50);
    EXPECT_EQ(cache.pool(0).free(), 4);
    a.forget_before(50);
    const SequenceBlocks moved(std::move(a));
  }
  for (std::int32_t g = 0; g < 2; ++g) {
    EXPECT_EQ(cache.pool(g).free(), 8);
    cache.pool(g).check();
  }
}

}  // namespace
}  // namespace ingot
