// Scheduler: sequences that one step must compute as a whole.
#include "runtime/schedule/scheduler_test_util.h"

namespace ingot {
namespace {

std::unique_ptr<Sequence> whole_of(Pool& pool, std::int64_t tokens) {
  auto s = sequence_of(pool, tokens);
  s->whole = s->pools = true;
  s->draws = s->reads_cache = false;
  return s;
}

/// Checks that a part has all rows of its sequence and gives the pooled result.
void expect_whole(const StepPart& part, const Sequence& s) {
  EXPECT_EQ(part.sequence, &s);
  EXPECT_EQ(part.first, 0);
  EXPECT_EQ(part.rows, s.length());
  EXPECT_EQ(part.outputs, 0);
  EXPECT_TRUE(part.pooled);
}

TEST(SchedulerWhole, AStepHasAllRowsOrNone) {
  Pool pool(32);
  Steps scheduler(pool, {.rows = 12, .sequences = 4});
  const auto a = whole_of(pool, 5), b = whole_of(pool, 6), c = whole_of(pool, 7);
  for (Sequence* s : {a.get(), b.get(), c.get()}) scheduler->add(*s);
  auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 2u);
  expect_whole(parts[0], *a);
  expect_whole(parts[1], *b);
  scheduler.commit(parts);
  EXPECT_FALSE(a->pools || b->pools);
  for (Sequence* s : {a.get(), b.get()}) scheduler->remove(*s);
  parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 1u);
  expect_whole(parts[0], *c);
  scheduler.commit(parts);
  scheduler->remove(*c);
  pool.expect_all_free();
}

TEST(SchedulerWhole, AShortSequenceDoesNotOvertakeALongOne) {
  Pool pool(32);
  Steps scheduler(pool, {.rows = 12, .sequences = 4});
  const auto first = whole_of(pool, 8), longest = whole_of(pool, 10), shortest = whole_of(pool, 2);
  for (Sequence* s : {first.get(), longest.get(), shortest.get()}) scheduler->add(*s);
  auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 1u);
  expect_whole(parts[0], *first);
  scheduler.commit(parts);
  scheduler->remove(*first);
  parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 2u);
  expect_whole(parts[0], *longest);
  expect_whole(parts[1], *shortest);
  scheduler.commit(parts);
  for (Sequence* s : {longest.get(), shortest.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(SchedulerWhole, WaitsForALongPromptAndIsNotOvertaken) {
  Pool pool(64);
  Steps scheduler(pool, {.rows = 16, .sequences = 4});
  const auto prompt = sequence_of(pool, 40), whole = whole_of(pool, 15);
  const auto later = sequence_of(pool, 4);
  for (Sequence* s : {prompt.get(), whole.get(), later.get()}) scheduler->add(*s);
  while (prompt->computed < 40) {
    EXPECT_FALSE(whole->admitted);
    EXPECT_FALSE(later->admitted);
    scheduler.step();
  }
  // A token of the prompt's text takes one row, and the whole sequence the other 15.
  const auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].sequence, prompt.get());
  expect_whole(parts[1], *whole);
  scheduler.commit(parts);
  for (Sequence* s : {prompt.get(), whole.get(), later.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(SchedulerWhole, TheFirstMayExceedTheTimeOfAStep) {
  Pool pool(64);
  Steps scheduler(pool, {.rows = 40, .sequences = 4, .step_seconds = 1e-6});
  const auto decoding = sequence_of(pool, 20);
  scheduler->add(*decoding);
  for (int i = 0; i < 8; ++i) {
    const auto parts = scheduler.plan();
    scheduler.commit(parts, 1);
  }
  const auto first = whole_of(pool, 18), second = whole_of(pool, 18);
  for (Sequence* s : {first.get(), second.get()}) scheduler->add(*s);
  const auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 2u) << "the second would lengthen the step";
  expect_whole(parts[1], *first);
  EXPECT_GE(scheduler->step_under_way(0).rows_max, 19);
  scheduler.commit(parts, 1);
  for (Sequence* s : {decoding.get(), first.get(), second.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(SchedulerWhole, NoBlocksAreReservedForAPart) {
  Pool pool(4);
  Steps scheduler(pool, {.rows = 64, .sequences = 2});
  const auto stranger = sequence_of(pool, 16);
  ASSERT_TRUE(stranger->blocks.reserve(32));
  const auto whole = whole_of(pool, 48);
  scheduler->add(*whole);
  stranger->blocks.truncate(0);
  const auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 1u);
  expect_whole(parts[0], *whole);
  scheduler.commit(parts);
  scheduler->remove(*whole);
  pool.expect_all_free();
}

TEST(SchedulerWhole, TwoStepsUnderWay) {
  Pool pool(16);
  Steps scheduler(pool, {.rows = 8, .sequences = 2, .pipeline_depth = 2});
  const auto a = whole_of(pool, 8), b = whole_of(pool, 8);
  for (Sequence* s : {a.get(), b.get()}) scheduler->add(*s);
  expect_whole(scheduler.plan()[0], *a);
  expect_whole(scheduler.plan()[0], *b);
  scheduler.commit_oldest();
  scheduler.commit_oldest();
  EXPECT_FALSE(a->pools || b->pools);
  for (Sequence* s : {a.get(), b.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

}  // namespace
}  // namespace ingot
