// Drafts in the scheduler: which rows and blocks they get, and what stays of them.
#include "runtime/schedule/scheduler_test_util.h"

namespace ingot {
namespace {

SchedulerLimits limits(std::int32_t draft_rows = 8) {
  return {.rows = 64, .sequences = 4, .draft_rows = draft_rows};
}

/// Adds a sequence and computes its prompt. It then has one row more, of token 7.
std::unique_ptr<Sequence> decoding(Pool& pool, Steps& scheduler, std::int64_t prompt) {
  auto s = sequence_of(pool, prompt);
  scheduler->add(*s);
  scheduler.step();
  return s;
}

TEST(SchedulerDrafts, APartHasTheDraftsAndARowOfLogitsForEach) {
  Pool pool(8);
  Steps scheduler(pool, limits());
  const auto s = decoding(pool, scheduler, 10);
  s->drafts = {4, 5, 6};
  const auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].first, 10);
  EXPECT_EQ(parts[0].rows, 4);
  EXPECT_EQ(parts[0].drafts, 3);
  EXPECT_EQ(parts[0].outputs, 4);
  EXPECT_EQ(s->verifying, 3);
  const Step& step = scheduler->step_under_way(0);
  EXPECT_EQ(step.verify_rows, 4);
  EXPECT_EQ(step.outputs, 4);
  scheduler->commit(std::vector{4, 5, 9, -1}, 0);
  scheduler->remove(*s);
  pool.expect_all_free();
}

/// Row 15 of the accepted draft ends a block. Rows of the rejected drafts lie in the next one.
TEST(SchedulerDrafts, AcceptedRowsStayAndRejectedOnesLeave) {
  for (const auto& [drawn, rows, tokens] : {std::tuple{std::vector{9, -1, -1}, 15, 16},
                                            {std::vector{4, 9, -1}, 16, 17},
                                            {std::vector{4, 5, 9}, 17, 18},
                                            {std::vector{-1, -1, -1}, 15, 15},
                                            {std::vector{4, -1, -1}, 16, 16}}) {
    Pool pool(8);
    Steps scheduler(pool, limits());
    const auto s = decoding(pool, scheduler, 14);
    s->drafts = {4, 5};
    scheduler.plan();
    EXPECT_EQ(s->blocks.held(0), 2);
    scheduler->commit(drawn, 0);
    EXPECT_EQ(s->computed, rows);
    EXPECT_EQ(s->blocks.filled(), rows);
    EXPECT_EQ(s->length(), tokens);
    EXPECT_EQ(s->blocks.held(0), rows > 16 ? 2 : 1);
    EXPECT_EQ(s->in_flight, 0);
    EXPECT_EQ(s->pending, 0);
    EXPECT_EQ(s->verifying, 0);
    EXPECT_TRUE(s->drafts.empty());
    scheduler->remove(*s);
    pool.expect_all_free();
  }
}

TEST(SchedulerDrafts, OnlyAcceptedTokensAreCached) {
  Pool pool(8);
  Steps scheduler(pool, limits());
  const auto s = decoding(pool, scheduler, 14);
  s->drafts = {4, 5};
  scheduler.plan();
  scheduler->commit(std::vector{4, 9, -1}, 0);
  const PrefixIndex& index = *scheduler->prefixes();
  EXPECT_EQ(index.nodes(), 2) << "the root and the first block";
  auto wrong = sequence_of(pool, 1);
  wrong->tokens = s->tokens;
  wrong->tokens.resize(16);
  wrong->tokens[15] = 5;
  wrong->tokens.push_back(1);
  EXPECT_EQ(scheduler->prefixes()->find({}, wrong->tokens, 16).rows, 0);
  EXPECT_EQ(scheduler->prefixes()->find({}, s->tokens, 16).rows, 16);
  scheduler->remove(*s);
}

/// Returns the number of drafts in the next step, which then draws nothing.
std::int32_t planned_drafts(Steps& scheduler, const Sequence& s) {
  std::int32_t drafts = 0;
  std::vector<std::int32_t> none;
  for (const StepPart& part : scheduler.plan()) {
    if (part.sequence == &s) drafts = part.drafts;
    none.insert(none.end(), to_size(part.outputs), -1);
  }
  scheduler->commit(none, 0);
  return drafts;
}

/// Limits: the sequence's rows, the reader's room, and the drafts of a step.
TEST(SchedulerDrafts, DraftsKeepToAllLimits) {
  for (const auto& [rows_max, room, draft_rows, want] : {std::tuple{100, 100, 8, 3},
                                                         {13, 100, 8, 2},
                                                         {11, 100, 8, 0},
                                                         {100, 3, 8, 2},
                                                         {100, 1, 8, 0},
                                                         {100, 100, 2, 2},
                                                         {100, 100, 0, 0}}) {
    Pool pool(8);
    Steps scheduler(pool, limits(draft_rows));
    const auto s = decoding(pool, scheduler, 10);
    s->rows_max = rows_max;
    s->room = room;
    s->drafts = {1, 2, 3};
    EXPECT_EQ(planned_drafts(scheduler, *s), want) << rows_max << " " << room << " " << draft_rows;
    scheduler->remove(*s);
    pool.expect_all_free();
  }
}

TEST(SchedulerDrafts, SequencesShareTheDraftsOfAStep) {
  Pool pool(8);
  Steps scheduler(pool, limits(4));
  const auto a = decoding(pool, scheduler, 10), b = decoding(pool, scheduler, 10);
  a->drafts = b->drafts = {1, 2, 3};
  EXPECT_EQ(planned_drafts(scheduler, *b), 1);
  scheduler->remove(*a);
  scheduler->remove(*b);
  pool.expect_all_free();
}

/// Three blocks: the second sequence's row needs the last one.
TEST(SchedulerDrafts, DraftsPreemptNoOneAndTakeNoBlockThatAnotherRowNeeds) {
  Pool pool(3);
  Steps scheduler(pool, {.rows = 64, .sequences = 2, .draft_rows = 8, .prefix_cache = false});
  const auto a = decoding(pool, scheduler, 14), b = decoding(pool, scheduler, 16);
  a->drafts = {1, 2, 3, 4};
  const auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(scheduler->preemptions(), 0);
  for (const StepPart& part : parts) {
    if (part.sequence == a.get()) {
      EXPECT_LE(part.first + part.rows, 16);
    }
  }
  scheduler.commit(parts);
  scheduler->remove(*a);
  scheduler->remove(*b);
  pool.expect_all_free();
}

/// The next step waits until it is known which drafts are accepted.
TEST(SchedulerDrafts, NoLaterStepContinuesASequenceThatVerifies) {
  Pool pool(8);
  Steps scheduler(pool, {.rows = 64, .sequences = 2, .pipeline_depth = 2, .draft_rows = 8});
  const auto s = decoding(pool, scheduler, 10);
  s->drafts = {4};
  ASSERT_EQ(scheduler.plan().size(), 1u);
  EXPECT_TRUE(scheduler.plan().empty());
  scheduler->commit(std::vector{4, 9}, 0);
  EXPECT_EQ(s->computed, 12);
  // Without drafts, the step after the next one continues the token under way.
  ASSERT_EQ(scheduler.plan().size(), 1u);
  ASSERT_EQ(scheduler.plan().size(), 1u);
  // Drafts wait until nothing is pending.
  s->drafts = {4};
  scheduler.commit_oldest();
  EXPECT_EQ(scheduler.plan()[0].drafts, 0);
  scheduler.commit_oldest();
  s->awaits_drafts = true;
  EXPECT_TRUE(scheduler.plan().empty());
  scheduler.commit_oldest();
  s->awaits_drafts = false;
  s->drafts = {4};
  EXPECT_EQ(scheduler.plan()[0].drafts, 1);
  scheduler.commit_oldest();
  scheduler->remove(*s);
  pool.expect_all_free();
}

/// The window's older keys stay until the rejected rows have left.
TEST(SchedulerDrafts, AWindowKeepsTheKeysOfTheRowThatReplacesARejectedDraft) {
  Pool pool(8, 16, 8);
  Steps scheduler(pool, {.rows = 64, .sequences = 1, .draft_rows = 32, .prefix_cache = false});
  const auto s = decoding(pool, scheduler, 30);
  s->drafts.assign(30, 4);
  scheduler.plan();
  std::vector<std::int32_t> drawn(31, -1);
  drawn[0] = 9;
  scheduler->commit(drawn, 0);
  EXPECT_EQ(s->computed, 31);
  EXPECT_TRUE(s->blocks.can_truncate(31));
  scheduler.step();
  EXPECT_EQ(s->computed, 32);
  scheduler->remove(*s);
  pool.expect_all_free();
}

}  // namespace
}  // namespace ingot
