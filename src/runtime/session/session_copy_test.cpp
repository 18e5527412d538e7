// SessionReader and SessionLoader: copies while other requests evict and take blocks.
#include "runtime/session/session_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <numeric>

#include "backend/cpu/cpu_backend.h"
#include "base/temp_folder_test_util.h"

namespace ingot {
namespace {

/// A layer that sees everything and one with a window of 24 tokens.
constexpr std::array<KvUse, 2> kLayers{
    {{.attention = {.kv_heads = 1, .head_dim = 32}},
     {.attention = {.kv_heads = 1, .head_dim = 32, .window = 24}}}};

/// A cache and its index.
class Place {
 public:
  Place(Backend& backend, std::int32_t blocks)
      : cache_(backend, kv_groups(backend, kLayers, KvType::kF32), KvType::kF32,
               std::array{blocks, blocks}),
        index_(cache_, 4, {}) {}

  KvCache& cache() { return cache_; }
  PrefixIndex& index() { return index_; }
  /// Computes tokens and lets them go.
  void compute(std::span<const std::int32_t> tokens) {
    SequenceBlocks blocks(cache_);
    auto place = index_.adopt({}, index_.find({}, tokens, std::ssize(tokens)), blocks);
    ASSERT_TRUE(blocks.reserve(std::ssize(tokens)));
    blocks.set_filled(std::ssize(tokens));
    index_.extend({}, place, tokens, std::ssize(tokens), blocks);
    index_.leave(place);
  }
  std::int64_t known(std::span<const std::int32_t> tokens) {
    return index_.find({}, tokens, std::ssize(tokens)).blocks;
  }

 private:
  KvCache cache_;
  PrefixIndex index_;
};

class SessionCopyTest : public ::testing::Test {
 protected:
  SessionCopyTest() {
    session_.tokens.resize(8 * kBlockTokens);
    std::iota(session_.tokens.begin(), session_.tokens.end(), 0);
    session_.model = session_model(from_.cache(), {1, 2});
    from_.compute(session_.tokens);
  }
  /// The first `blocks` blocks of the session, one block after the other.
  SessionReader read(std::int64_t blocks) {
    SessionReader reader(session_.tokens, {}, from_.cache(), &from_.index());
    reader.find();
    for (; blocks > 0 && reader.prepare(1); --blocks) reader.read();
    return reader;
  }
  SessionFile file() {
    const SessionReader reader = read(8);
    write_session(folder_.path("a"), session_, reader.blocks(),
                  [&](std::int64_t i, std::int32_t g, std::span<std::byte> out) {
                    const auto rows = reader.rows(i, g);
                    std::copy(rows.begin(), rows.end(), out.begin());
                  });
    return SessionFile(folder_.path("a"));
  }

  ThreadPool pool_{1};
  CpuBackend backend_{pool_, scalar_kernels()};
  TempFolder folder_;
  Session session_;
  Place from_{backend_, 8};
};

TEST_F(SessionCopyTest, WhatIsEvictedWhileItIsReadIsNotInTheCopy) {
  EXPECT_EQ(read(8).blocks().blocks, 8);
  SessionReader reader = read(3);
  from_.compute(std::vector<std::int32_t>(3 * kBlockTokens, 5));
  ASSERT_TRUE(reader.prepare(1));
  reader.read();
  EXPECT_EQ(reader.blocks().blocks, 4) << "more are not read yet";
  while (reader.prepare(1)) reader.read();
  EXPECT_EQ(reader.blocks().blocks, 5) << "three leaves went";
  from_.index().flush();
  reader.read();
  EXPECT_EQ(reader.blocks().blocks, 0);
  EXPECT_TRUE(reader.blocks().there.empty());
}

TEST_F(SessionCopyTest, LoadingGoesBlockByBlockAndTheFrontIsUsedLast) {
  const SessionFile file = this->file();
  Place to(backend_, 8);
  SessionLoader loader(file, {}, to.cache(), to.index());
  loader.find();
  for (std::int64_t blocks = 1; blocks <= 8; ++blocks) {
    ASSERT_TRUE(loader.prepare(1));
    loader.load();
    EXPECT_EQ(loader.tokens(), blocks * kBlockTokens);
    EXPECT_EQ(to.cache().pool(0).available(), 8);
    to.index().check();
  }
  EXPECT_FALSE(loader.prepare(1));
  to.compute(std::vector<std::int32_t>(2 * kBlockTokens, 5));
  EXPECT_EQ(to.known(session_.tokens), 6) << "leaves go first, whenever they came";
}

TEST_F(SessionCopyTest, LoadingEndsWhereWhatCameBeforeIsGone) {
  const SessionFile file = this->file();
  Place to(backend_, 8);
  SessionLoader loader(file, {}, to.cache(), to.index());
  loader.find();
  ASSERT_TRUE(loader.prepare(1));
  loader.load();
  ASSERT_TRUE(loader.prepare(1));
  to.index().flush();
  loader.load();
  EXPECT_EQ(loader.tokens(), 0);
  EXPECT_FALSE(loader.prepare(1));
}

TEST_F(SessionCopyTest, LoadingEndsWhereOthersTookTheRoom) {
  const SessionFile file = this->file();
  Place to(backend_, 8);
  SessionLoader loader(file, {}, to.cache(), to.index());
  loader.find();
  ASSERT_TRUE(loader.prepare(1));
  loader.load();
  SequenceBlocks other(to.cache());
  ASSERT_TRUE(other.reserve(6 * kBlockTokens));
  ASSERT_TRUE(loader.prepare(1));
  loader.load();
  ASSERT_TRUE(loader.prepare(1));
  loader.load();
  EXPECT_FALSE(loader.prepare(1));
  EXPECT_EQ(loader.tokens(), kBlockTokens) << "the window's last block was kept for the end";
}

}  // namespace
}  // namespace ingot
