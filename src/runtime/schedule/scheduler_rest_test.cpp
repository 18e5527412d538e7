// Sequences that rest: what the next sequence takes over, and which one loses its blocks.
#include <tuple>

#include "runtime/schedule/scheduler_test_util.h"

namespace ingot {
namespace {

/// A sequence of another one's first rows and `more` rows behind them.
std::unique_ptr<Sequence> longer(Pool& pool, const Sequence& before, std::int64_t more) {
  auto next = sequence_of(pool, more);
  next->tokens.insert(next->tokens.begin(), before.tokens.begin(), before.tokens.end());
  return next;
}

TEST(SchedulerRest, TheNextSequenceTakesOverTheRowsOfOneThatRests) {
  for (const bool has_prefixes : {true, false}) {
    Pool pool(8);
    Steps scheduler(pool, {.rows = 64, .sequences = 2, .prefix_cache = has_prefixes});
    const auto first = sequence_of(pool, 21);
    scheduler->add(*first);
    scheduler.step();
    scheduler->rest(*first);
    EXPECT_EQ(scheduler->running(), 0);
    EXPECT_TRUE(scheduler.plan().empty());
    EXPECT_EQ(pool.cache().pool(0).references(), 2);
    const auto next = longer(pool, *first, 3);  // the token that the step drew is a row too
    scheduler->add_after(*next, *first);
    EXPECT_TRUE(scheduler->resting_sequences().empty());
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].first, 21);
    EXPECT_EQ(parts[0].rows, 4);
    EXPECT_EQ(next->cached, 21);
    scheduler.commit(parts);
    scheduler->remove(*next);
    pool.expect_all_free();
  }
}

/// Fewer rows in common, and a sequence whose rows are all computed: its last row gives the token.
TEST(SchedulerRest, OnlyEqualRowsAreTakenOverAndTheLastRowIsComputedAgain) {
  for (const auto& [common, more, first_row] : {std::tuple{20, 5, 20}, {21, 0, 20}, {0, 9, 0}}) {
    Pool pool(8);
    Steps scheduler(pool, {.rows = 64, .sequences = 2, .prefix_cache = false});
    const auto first = sequence_of(pool, 21);
    scheduler->add(*first);
    scheduler.step();
    scheduler->rest(*first);
    first->tokens.resize(static_cast<std::size_t>(common));
    const auto next = longer(pool, *first, more);
    scheduler->add_after(*next, *first);
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].first, first_row);
    EXPECT_EQ(parts[0].rows, common + more - first_row);
    scheduler.commit(parts);
    scheduler->remove(*next);
    pool.expect_all_free();
  }
}

/// Four blocks: two rest with one each. The third sequence needs three.
TEST(SchedulerRest, TheOneThatRestedLongestLosesItsBlocksFirst) {
  Pool pool(4);
  Steps scheduler(pool, {.rows = 64, .sequences = 3, .prefix_cache = false});
  const auto old = sequence_of(pool, 9), young = sequence_of(pool, 9);
  for (Sequence* s : {old.get(), young.get()}) {
    scheduler->add(*s);
    scheduler.step();
    scheduler->rest(*s);
  }
  const auto large = sequence_of(pool, 40);
  scheduler->add(*large);
  scheduler.step();  // as many rows as there are blocks for
  EXPECT_TRUE(old->admitted);
  scheduler.step();
  EXPECT_TRUE(large->admitted);
  EXPECT_FALSE(old->admitted);
  EXPECT_TRUE(young->admitted);
  EXPECT_EQ(scheduler->preemptions(), 0);
  const auto next = longer(pool, *old, 1);
  scheduler->add_after(*next, *old);
  EXPECT_FALSE(next->admitted);
  for (Sequence* s : {large.get(), young.get(), next.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

/// Ten blocks: the running sequence has six, and two rest with one each.
TEST(SchedulerRest, AnAdmissionTakesNoMoreBlocksThanItNeeds) {
  Pool pool(10);
  Steps scheduler(pool, {.rows = 256, .sequences = 5, .prefix_cache = false});
  const auto running = sequence_of(pool, 90);
  scheduler->add(*running);
  scheduler.step();
  const auto old = sequence_of(pool, 9), young = sequence_of(pool, 9);
  for (Sequence* s : {old.get(), young.get()}) {
    scheduler->add(*s);
    scheduler.step();
    scheduler->rest(*s);
  }
  // Four blocks, and one more for the running sequence: even all that rest are not enough.
  const auto large = sequence_of(pool, 60);
  scheduler->add(*large);
  scheduler.step();
  EXPECT_FALSE(large->admitted);
  EXPECT_TRUE(old->admitted && young->admitted);
  scheduler->remove(*large);
  const auto small = sequence_of(pool, 30);
  scheduler->add(*small);
  scheduler.step();
  EXPECT_TRUE(small->admitted);
  EXPECT_FALSE(old->admitted);
  EXPECT_TRUE(young->admitted);
  EXPECT_EQ(scheduler->preemptions(), 0);
  for (Sequence* s : {running.get(), small.get(), old.get(), young.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

/// A block that two resting sequences share counts once. A block of the newcomer's prefix does not
/// become free.
TEST(SchedulerRest, SharedBlocksOfRestingSequencesCountOnce) {
  Pool pool(10);
  Steps scheduler(pool, {.rows = 256, .sequences = 5});
  const auto running = sequence_of(pool, 90);
  scheduler->add(*running);
  scheduler.step();
  // Two blocks, both shared.
  const auto old = sequence_of(pool, 33, 7000), young = sequence_of(pool, 33, 7000);
  for (Sequence* s : {old.get(), young.get()}) {
    s->tokens.resize(32);
    scheduler->add(*s);
    scheduler.step();
    scheduler->rest(*s);
  }
  EXPECT_EQ(old->blocks.table(0)[1], young->blocks.table(0)[1]);
  // The prefix saves two of five blocks, and the resting sequences have no others.
  const auto large = sequence_of(pool, 80, 7000);
  scheduler->add(*large);
  scheduler.step();
  EXPECT_FALSE(large->admitted);
  EXPECT_TRUE(old->admitted && young->admitted);
  for (Sequence* s : {running.get(), large.get(), old.get(), young.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

/// Ten blocks: the running sequence has four. A resting and a paused sequence share four, and the
/// paused one has one more.
TEST(SchedulerRest, BlocksOfARestingAndAPausedSequenceCount) {
  Pool pool(10);
  Steps scheduler(pool, {.rows = 256, .sequences = 5});
  const auto running = sequence_of(pool, 60), resting = sequence_of(pool, 65, 7000);
  scheduler->add(*running);
  scheduler.step();
  resting->tokens.resize(64);
  scheduler->add(*resting);
  scheduler.step();
  scheduler->rest(*resting);
  const auto paused = sequence_of(pool, 80, 7000);
  scheduler->add(*paused);
  scheduler.step();
  paused->paused = true;
  ASSERT_EQ(paused->blocks.table(0)[3], resting->blocks.table(0)[3]);
  const auto next = sequence_of(pool, 30);
  scheduler->add(*next);
  scheduler.step();
  EXPECT_TRUE(next->admitted && running->admitted);
  EXPECT_FALSE(resting->admitted || paused->admitted);
  for (Sequence* s : {running.get(), resting.get(), paused.get(), next.get()}) {
    scheduler->remove(*s);
  }
  pool.expect_all_free();
}

/// Six blocks: a paused sequence has two, and two rest with one each.
TEST(SchedulerRest, RestingSequencesLoseTheirBlocksBeforeAPausedOne) {
  Pool pool(6);
  Steps scheduler(pool, {.rows = 64, .sequences = 4, .prefix_cache = false});
  const auto paused = sequence_of(pool, 17);
  scheduler->add(*paused);
  scheduler.step();
  paused->paused = true;
  const auto old = sequence_of(pool, 9), young = sequence_of(pool, 9);
  for (Sequence* s : {old.get(), young.get()}) {
    scheduler->add(*s);
    scheduler.step();
    scheduler->rest(*s);
  }
  const auto next = sequence_of(pool, 30);
  scheduler->add(*next);
  scheduler.step();
  EXPECT_TRUE(next->admitted && paused->admitted && young->admitted);
  EXPECT_FALSE(old->admitted);
  for (Sequence* s : {paused.get(), next.get(), old.get(), young.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(SchedulerRest, RestingSequencesTakeNoPlaces) {
  Pool pool(8);
  Steps scheduler(pool, {.rows = 64, .sequences = 2});
  std::vector<std::unique_ptr<Sequence>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(sequence_of(pool, 9));
    scheduler->add(*all.back());
    scheduler.step();
    EXPECT_TRUE(all.back()->admitted);
    scheduler->rest(*all.back());
    EXPECT_LE(scheduler->resting_sequences().size(), 2u);
  }
  for (const auto& s : all) scheduler->remove(*s);
  pool.expect_all_free();
}

}  // namespace
}  // namespace ingot
