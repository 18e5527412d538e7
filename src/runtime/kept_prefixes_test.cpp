// Kept prefixes: what a turn finds of the one before, and who gives way to whom.
#include "runtime/kept_prefixes.h"

#include <numeric>

#include "runtime/scheduler_test_util.h"

namespace ingot {
namespace {

/// A turn with tokens 0, 1, 2, ... of which `computed` are computed.
std::unique_ptr<Sequence> turn(Pool& pool, std::uint64_t conversation, std::int64_t tokens,
                               std::int64_t computed = 0) {
  auto s = sequence_of(pool, tokens);
  std::iota(s->tokens.begin(), s->tokens.end(), 0);
  s->conversation = conversation;
  if (computed == 0) return s;
  EXPECT_TRUE(s->blocks.reserve(computed));
  s->computed = computed;
  s->forget();
  return s;
}

TEST(KeptPrefixes, ATurnGoesOnWhereTheLastOneWas) {
  Pool pool(8);
  KeptPrefixes kept(2);
  const auto first = turn(pool, 7, 41, 40);
  const std::int32_t block = first->blocks.table(0)[1];
  kept.keep(*first);
  EXPECT_EQ(kept.held(0), 3);
  const auto stranger = turn(pool, 8, 60);
  kept.resume(*stranger);
  EXPECT_EQ(stranger->computed, 0);
  const auto second = turn(pool, 7, 60);
  kept.resume(*second);
  EXPECT_EQ(second->computed, 40);
  EXPECT_EQ(second->cached, 40);
  EXPECT_EQ(second->blocks.table(0)[1], block);
  EXPECT_EQ(kept.held(0), 0) << "it belongs to the turn now";
  second->blocks.truncate(0);
  pool.expect_all_free();
}

TEST(KeptPrefixes, AnEditedTurnKeepsWhatComesBeforeTheEdit) {
  Pool pool(8);
  KeptPrefixes kept(1);
  kept.keep(*turn(pool, 7, 50, 50));
  const auto edited = turn(pool, 7, 60);
  edited->tokens[17] = 99;
  kept.resume(*edited);
  EXPECT_EQ(edited->computed, 17);
  EXPECT_EQ(edited->blocks.held(0), 2);
  EXPECT_EQ(pool.cache().pool(0).free(), 6);
}

TEST(KeptPrefixes, OneRowAtLeastIsComputedAgain) {
  Pool pool(8);
  KeptPrefixes kept(1);
  for (const std::int64_t tokens : {50, 20}) {
    kept.keep(*turn(pool, 7, 50, 50));
    const auto same = turn(pool, 7, tokens);
    kept.resume(*same);
    EXPECT_EQ(same->computed, tokens - 1);
  }
  kept.keep(*turn(pool, 7, 1, 1));
  const auto one = turn(pool, 7, 1);
  kept.resume(*one);
  EXPECT_EQ(one->computed, 0);
  pool.expect_all_free();
}

TEST(KeptPrefixes, WantedRowsAreComputed) {
  Pool pool(8);
  KeptPrefixes kept(1);
  const auto resumed = [&](auto want) {
    kept.keep(*turn(pool, 7, 50, 50));
    const auto s = turn(pool, 7, 60);
    want(*s);
    kept.resume(*s);
    return s->computed;
  };
  EXPECT_EQ(resumed([](Sequence& s) { s.scores_end = 59; }), 0);
  EXPECT_EQ(resumed([](Sequence& s) { s.scores_end = 59, s.scored = 30; }), 30);
  EXPECT_EQ(resumed([](Sequence& s) { s.scores_end = s.scored = 30; }), 50);
  EXPECT_EQ(resumed([](Sequence& s) { s.shown_end = 60, s.shown = 21; }), 21);
  EXPECT_EQ(resumed([](Sequence&) {}), 50);
}

TEST(KeptPrefixes, WhereAWindowForgotTooMuchNothingIsLeft) {
  Pool pool(8, 8, 8);
  KeptPrefixes kept(1);
  const auto resumed = [&](std::size_t edit) {
    kept.keep(*turn(pool, 7, 45, 45));  // its next row sees keys from 38 on, block 2
    const auto s = turn(pool, 7, 60);
    s->tokens[edit] = 99;
    kept.resume(*s);
    return s->computed;
  };
  EXPECT_EQ(resumed(45), 45);
  EXPECT_EQ(resumed(39), 39) << "its row sees keys from 32 on";
  EXPECT_EQ(resumed(38), 0) << "its row sees key 31, in block 1";
  pool.expect_all_free();
}

TEST(KeptPrefixes, TheOldestGivesWay) {
  Pool pool(8);
  KeptPrefixes kept(2);
  for (const std::uint64_t conversation : {1U, 2U, 1U, 3U}) {
    kept.keep(*turn(pool, conversation, 16, 16));
  }
  const auto computed = [&](std::uint64_t conversation) {
    const auto s = turn(pool, conversation, 20);
    kept.resume(*s);
    return s->computed;
  };
  EXPECT_EQ(computed(2), 0) << "1 was kept again after it";
  EXPECT_EQ(computed(3), 16);
  EXPECT_TRUE(kept.drop_oldest());
  EXPECT_FALSE(kept.drop_oldest());
  EXPECT_EQ(computed(1), 0);
  pool.expect_all_free();
}

TEST(KeptPrefixes, WhatCannotBeKeptIsLeftAlone) {
  Pool pool(8);
  std::vector<float> rows(4 * 4);
  const auto given = turn(pool, 7, 20, 20);
  given->embeddings = f32_view(rows.data(), 4, 4);
  const auto alone = turn(pool, 0, 20, 20), untouched = turn(pool, 7, 20);
  KeptPrefixes kept(2), none(0);
  for (const auto& s : {given.get(), alone.get(), untouched.get()}) kept.keep(*s);
  EXPECT_EQ(kept.held(0), 0);
  const auto whole = turn(pool, 7, 20, 20);
  none.keep(*whole);
  EXPECT_EQ(whole->blocks.held(0), 2);
}

TEST(Scheduler, WhatIsKeptGoesBeforeAnybodyGivesWay) {
  Pool pool(4);
  Scheduler scheduler(pool.cache(), {.rows = 64, .sequences = 2, .kept = 2});
  const auto step = [&] { scheduler.commit(drawn_for(scheduler.plan())); };
  const auto first = turn(pool, 1, 40);
  scheduler.add(*first);
  step();
  scheduler.retire(*first);
  EXPECT_EQ(scheduler.kept(0), 3);
  const auto a = turn(pool, 2, 17), b = turn(pool, 3, 17);
  for (Sequence* s : {a.get(), b.get()}) scheduler.add(*s);
  step();
  EXPECT_EQ(a->computed, 17);
  EXPECT_FALSE(b->admitted) << "kept blocks are room, but not for two";
  EXPECT_EQ(scheduler.kept(0), 0) << "two blocks were needed, and one was free";
  EXPECT_EQ(scheduler.preemptions(), 0);
  scheduler.remove(*a);
  scheduler.remove(*b);
  pool.expect_all_free();
}

TEST(Scheduler, ATurnOnAFullPoolTakesItsOwnBlocks) {
  Pool pool(4);
  Scheduler scheduler(pool.cache(), {.rows = 64, .sequences = 1, .kept = 2});
  const auto first = turn(pool, 1, 60);
  scheduler.add(*first);
  scheduler.commit(drawn_for(scheduler.plan()));
  scheduler.retire(*first);
  EXPECT_EQ(pool.cache().pool(0).free(), 0);
  const auto second = turn(pool, 1, 63);
  scheduler.add(*second);
  const auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(second->cached, 60);
  EXPECT_EQ(parts[0].rows, 3);
  scheduler.commit(drawn_for(parts));
  scheduler.remove(*second);
  pool.expect_all_free();
}

}  // namespace
}  // namespace ingot
