// Tests of PrefixIndex: hits, domains, the order of eviction, and collisions, which cost one hit.
#include "kv/prefix_index.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "backend/cpu/cpu_backend.h"
#include "base/index.h"

namespace ingot {
namespace {

constexpr std::int64_t kAll = 1 << 20;

/// Tokens first, first + 1, ...
std::vector<std::int32_t> text(std::int64_t count, std::int32_t first = 0) {
  std::vector<std::int32_t> tokens(to_size(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class PrefixIndexTest : public testing::Test {
 protected:
  /// A registered sequence.
  struct Holder {
    explicit Holder(KvCache& cache) : blocks(cache) {}
    SequenceBlocks blocks;
    PrefixIndex::Place place;
  };

  void make(std::vector<std::int32_t> blocks, std::int32_t window = 0, int hash_bits = 128) {
    index_.reset();
    std::vector<KvGroup> groups{{.layers = {0}, .window = 0, .block_bytes = 64}};
    if (window > 0) groups.push_back({.layers = {1}, .window = window, .block_bytes = 64});
    cache_ = std::make_unique<KvCache>(backend_, groups, KvType::kF16, blocks);
    index_ = std::make_unique<PrefixIndex>(*cache_, 8, PrefixIndexOptions{.hash_bits = hash_bits});
  }

  Holder compute(const std::vector<std::int32_t>& tokens, const PrefixKey& key = {},
                 std::uint64_t chat_template = 0) {
    Holder h(*cache_);
    h.place = index_->adopt(key, index_->find(key, tokens, std::ssize(tokens) - 1), h.blocks,
                            chat_template);
    const auto length = std::ssize(tokens);
    EXPECT_TRUE(h.blocks.reserve(length));
    h.blocks.set_filled(length);
    index_->extend(key, h.place, tokens, length, h.blocks);
    h.blocks.forget_before(length);
    index_->check();
    return h;
  }
  void end(Holder& h) {
    index_->leave(h.place);
    h.blocks.truncate(0);
    index_->check();
  }
  std::int64_t found(const std::vector<std::int32_t>& tokens, const PrefixKey& key = {}) {
    return index_->find(key, tokens, kAll).blocks;
  }
  MissReason reason(const std::vector<std::int32_t>& tokens, const PrefixKey& key = {},
                    std::uint64_t chat_template = 0) {
    return index_->find(key, tokens, kAll, chat_template).miss.reason;
  }

  ThreadPool pool_{1};
  CpuBackend backend_{pool_, scalar_kernels()};
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<PrefixIndex> index_;
};

TEST_F(PrefixIndexTest, FullBlocksAreFoundWhileTheyRunAndAfterwards) {
  make({8});
  Holder h = compute(text(40));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(found(text(60)), 2);
    EXPECT_EQ(found(text(31)), 1);
    EXPECT_EQ(found(text(60, 1)), 0);
    if (i == 0) end(h);
  }
  EXPECT_EQ(cache_->pool(0).evictable(), 2);
  EXPECT_EQ(cache_->pool(0).free(), 6);
  Holder next = compute(text(60));
  EXPECT_EQ(cache_->pool(0).available(), 4);
  EXPECT_EQ(next.blocks.slot(0, 31), -1) << "a shared block would be written to";
  end(next);
}

TEST_F(PrefixIndexTest, APromptThatIsAllThereLeavesOneRowToCompute) {
  make({8});
  Holder h = compute(text(32));
  const auto match = index_->find({}, text(32), 31);
  EXPECT_EQ(match.rows, 31);
  EXPECT_EQ(match.blocks, 2);
  EXPECT_EQ(match.miss.reason, MissReason::kNone);
  // Rows with outputs are computed, so blocks with such rows alone are not taken.
  EXPECT_EQ(index_->find({}, text(32), 10).blocks, 1);
  EXPECT_EQ(index_->find({}, text(32), 0).blocks, 0);
  end(h);
}

TEST_F(PrefixIndexTest, DomainsAndAdaptersNeverShare) {
  make({16});
  const PrefixKey mine{.domain = {1, 2}}, other{.domain = {1, 3}};
  const PrefixKey adapted{.domain = {1, 2}, .adapter = 7};
  Holder h = compute(text(40), mine);
  EXPECT_EQ(found(text(40), mine), 2);
  EXPECT_EQ(found(text(40), other), 0);
  EXPECT_EQ(found(text(40), adapted), 0);
  EXPECT_EQ(reason(text(40), other), MissReason::kDomain);
  EXPECT_EQ(reason(text(40), adapted), MissReason::kAdapter);
  Holder second = compute(text(40), other);
  EXPECT_EQ(cache_->pool(0).available(), 10) << "six blocks, none of them shared";
  end(h);
  end(second);
}

TEST_F(PrefixIndexTest, SaysWhereAPrefixEndsAndWhy) {
  make({6});
  EXPECT_EQ(reason(text(40)), MissReason::kNew);
  Holder h = compute(text(40), {}, 5);
  auto changed = text(40);
  changed[20] = 99;
  auto miss = index_->find({}, changed, kAll, 5).miss;
  EXPECT_EQ(miss.reason, MissReason::kDiverged);
  EXPECT_EQ(miss.token, 20);
  EXPECT_EQ(reason(changed, {}, 6), MissReason::kTemplate);
  end(h);
  SequenceBlocks hungry(*cache_);
  ASSERT_TRUE(hungry.reserve(80));  // five blocks: the free ones and the last evictable one
  miss = index_->find({}, text(40), kAll, 5).miss;
  EXPECT_EQ(miss.reason, MissReason::kEvicted);
  EXPECT_EQ(miss.token, 16);
}

TEST_F(PrefixIndexTest, LeavesGoBeforeWhatTheyHangOnAndTheOldestFirst) {
  make({8});
  Holder a = compute(text(48));
  Holder b = compute(text(48, 100));
  end(a);
  end(b);
  SequenceBlocks hungry(*cache_);
  ASSERT_TRUE(hungry.reserve(2 * 16));
  for (std::int64_t left = 2; left >= 0; --left) {
    ASSERT_TRUE(hungry.reserve((5 - left) * 16));
    EXPECT_EQ(found(text(48)), left);
    EXPECT_EQ(found(text(48, 100)), 3);
    index_->check();
  }
}

/// Adapters and salts make new keys, but no new owner: more of them get a tenant no larger share.
TEST_F(PrefixIndexTest, ATenantIsNotFlushedBelowItsShare) {
  make({9});
  const PrefixKey mine{.domain = {1, 1}, .tenant = 1};
  const auto flood = [&](std::uint64_t tenant, std::int32_t first) {
    const auto salt = static_cast<std::uint64_t>(first);
    Holder h =
        compute(text(32, first), {.domain = {tenant, salt}, .adapter = salt % 3, .tenant = tenant});
    end(h);
  };
  Holder h = compute(text(48), mine);
  end(h);
  for (std::int32_t i = 0; i < 20; ++i) flood(2, 1000 * i);
  EXPECT_EQ(found(text(48), mine), 3);
  for (std::int32_t i = 0; i < 20; ++i) flood(3, 1000 * i);
  EXPECT_EQ(found(text(48), mine), 3) << "a third of the pool is its share";
  for (std::int32_t i = 0; i < 20; ++i) flood(4, 1000 * i);
  EXPECT_EQ(found(text(48), mine), 2) << "the share of one in four";
  EXPECT_EQ(index_->key_of(0, 0) != nullptr, cache_->pool(0).is_indexed(0));
}

TEST_F(PrefixIndexTest, EqualPromptsSideBySideEndUpOnTheSameBlocks) {
  make({8});
  Holder a(*cache_), b(*cache_);
  const auto tokens = text(40);
  for (Holder* h : {&a, &b}) {
    h->place = index_->adopt({}, index_->find({}, tokens, 39), h->blocks);
    ASSERT_TRUE(h->blocks.reserve(40));
  }
  EXPECT_EQ(cache_->pool(0).available(), 2);
  for (Holder* h : {&a, &b}) {
    h->blocks.set_filled(40);
    index_->extend({}, h->place, tokens, 40, h->blocks);
  }
  EXPECT_EQ(cache_->pool(0).available(), 4);
  EXPECT_EQ(a.blocks.table(0)[1], b.blocks.table(0)[1]);
  EXPECT_NE(a.blocks.table(0)[2], b.blocks.table(0)[2]);
  end(a);
  end(b);
  EXPECT_EQ(cache_->pool(0).available(), 8);
}

TEST_F(PrefixIndexTest, AWindowNeedsOnlyWhatTheNextRowSees) {
  make({16, 16}, 20);
  Holder h = compute(text(100));
  // Keys from 81 on are seen by row 100; blocks 0 to 4 of the window group were given back.
  EXPECT_EQ(found(text(100)), 6);
  EXPECT_EQ(found(text(64)), 4) << "given back, but not taken by anybody yet";
  end(h);
  SequenceBlocks hungry(*cache_);
  ASSERT_TRUE(hungry.reserve(14 * 16));
  index_->check();
  EXPECT_EQ(found(text(64)), 0) << "its window is gone";
}

TEST_F(PrefixIndexTest, ACollisionCostsAHitAndNothingElse) {
  for (const int bits : {0, 2, 8}) {
    make({40}, 0, bits);
    std::mt19937_64 rng(static_cast<std::uint64_t>(bits));
    std::vector<Holder> holders;
    std::vector<std::vector<std::int32_t>> texts;
    for (int i = 0; i < 6; ++i) {
      auto tokens = text(48);
      for (std::size_t at = 16 * (rng() % 3); at < tokens.size(); ++at) {
        tokens[at] = static_cast<std::int32_t>(rng() % 3);
      }
      holders.push_back(compute(tokens));
      texts.push_back(std::move(tokens));
    }
    for (const auto& tokens : texts) {
      const auto match = index_->find({}, tokens, kAll);
      SequenceBlocks taken(*cache_);
      auto place = index_->adopt({}, match, taken);
      for (std::int64_t b = 0; b < match.blocks; ++b) {
        bool same = false;
        for (std::size_t i = 0; i < texts.size(); ++i) {
          same =
              same || (at(holders[i].blocks.table(0), b) == at(taken.table(0), b) &&
                       std::equal(tokens.begin(), tokens.begin() + 16 * (b + 1), texts[i].begin()));
        }
        EXPECT_TRUE(same) << "block " << b << " holds other tokens";
      }
      index_->leave(place);
    }
    for (Holder& h : holders) end(h);
  }
}

TEST_F(PrefixIndexTest, WhoBeganADomainOwnsItsBlocksWhileTheyAreKnown) {
  make({4});
  const auto tenant = [&] { return index_->key_of(0, 0)->tenant; };
  Holder first = compute(text(16), {.domain = {1, 0}, .tenant = 7});
  Holder second = compute(text(16), {.domain = {1, 0}, .tenant = 8});
  EXPECT_EQ(second.blocks.table(0)[0], 0) << "one domain, so one block";
  end(first);
  EXPECT_EQ(tenant(), 7u);
  end(second);
  index_->flush();
  Holder third = compute(text(16), {.domain = {1, 0}, .tenant = 8});
  EXPECT_EQ(index_->key_of(0, third.blocks.table(0)[0])->tenant, 8u);
  end(third);
}

/// A salt costs its blocks alone: the last domain is registered like the first.
TEST_F(PrefixIndexTest, AsManyDomainsAsBlocksAreKnown) {
  make({32});
  for (std::uint64_t d = 1; d <= 100; ++d) {
    const PrefixKey key{.domain = {d, 0}};
    Holder h = compute(text(16), key);
    end(h);
    EXPECT_EQ(found(text(16), key), 1) << d;
  }
  std::int64_t known = 0;
  for (std::uint64_t d = 1; d <= 100; ++d) known += found(text(16), {.domain = {d, 0}});
  EXPECT_EQ(known, 32) << "the newest ones";
}

TEST_F(PrefixIndexTest, FlushedIsForgottenAndRunningSequencesGoOn) {
  make({8});
  Holder h = compute(text(32));
  index_->flush();
  index_->check();
  EXPECT_EQ(found(text(32)), 0);
  ASSERT_TRUE(h.blocks.reserve(48));
  h.blocks.set_filled(48);
  index_->extend({}, h.place, text(48), 48, h.blocks);
  end(h);
  EXPECT_EQ(found(text(48)), 0) << "what leads to it is unknown";
  index_->flush();
  EXPECT_EQ(index_->nodes(), 0);
  EXPECT_EQ(cache_->pool(0).free(), 8);
}

TEST_F(PrefixIndexTest, ATruncatedSequenceCopiesTheBlockThatIsKnown) {
  make({8});
  Holder h = compute(text(32));
  index_->truncate(h.place, 20);
  h.blocks.truncate(20);
  EXPECT_EQ(h.place.blocks, 1);
  std::vector<BlockCopy> copies;
  const std::int32_t known = h.blocks.table(0)[1];
  ASSERT_TRUE(h.blocks.reserve(24, copies));
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].from, known);
  EXPECT_EQ(h.blocks.table(0)[1], copies[0].to);
  EXPECT_EQ(found(text(32)), 2) << "it is still there for others";
  cache_->begin_plan();
  end(h);
}

}  // namespace
}  // namespace ingot
