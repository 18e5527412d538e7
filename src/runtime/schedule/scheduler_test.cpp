// Scheduler: each of its rules, one test for each.
#include <algorithm>
#include <cmath>

#include "runtime/schedule/scheduler_test_util.h"

namespace ingot {
namespace {

TEST(Scheduler, CutsAPromptIntoChunksAndDrawsFromTheLast) {
  Pool pool(8);
  Steps scheduler(pool, {.rows = 10, .sequences = 2});
  const auto s = sequence_of(pool, 25);
  scheduler->add(*s);
  for (const std::int32_t rows : {10, 10, 5}) {
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].rows, rows);
    EXPECT_EQ(parts[0].outputs, rows == 5 ? 1 : 0);
    scheduler.commit(parts);
  }
  EXPECT_EQ(s->length(), 26);
  EXPECT_EQ(s->tokens.back(), 7);
  scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, WhoLacksOneRowGetsItBesideALongPrompt) {
  Pool pool(64);
  Steps scheduler(pool, {.rows = 8, .sequences = 3});
  const auto a = sequence_of(pool, 1), b = sequence_of(pool, 1), longest = sequence_of(pool, 100);
  for (Sequence* s : {longest.get(), a.get(), b.get()}) scheduler->add(*s);
  scheduler->remove(*longest);
  scheduler.step();
  scheduler->add(*longest);
  for (std::int64_t computed = 6; computed <= 96; computed += 6) {
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_EQ(parts[0].sequence, a.get());
    EXPECT_EQ(parts[1].sequence, b.get());
    EXPECT_EQ(parts[2].rows, 6);
    scheduler.commit(parts);
    EXPECT_EQ(longest->computed, computed);
  }
  for (Sequence* s : {longest.get(), a.get(), b.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, TheLastAdmittedGivesWayAndComesBackFirst) {
  Pool pool(4);
  Steps scheduler(pool, {.rows = 64, .sequences = 2});
  const auto first = sequence_of(pool, 17), second = sequence_of(pool, 16),
             third = sequence_of(pool, 1);
  for (Sequence* s : {first.get(), second.get(), third.get()}) scheduler->add(*s);
  while (first->computed < 32) scheduler.step();
  EXPECT_EQ(scheduler->preemptions(), 0);
  EXPECT_EQ(second->computed, 31);
  scheduler.step();  // the first needs its third block, and the second has two
  EXPECT_EQ(scheduler->preemptions(), 1);
  EXPECT_EQ(first->computed, 33);
  EXPECT_FALSE(second->admitted);
  EXPECT_EQ(second->computed, 0);
  EXPECT_FALSE(third->admitted) << "it would overtake the preempted one";
  scheduler->remove(*first);
  scheduler.step();
  EXPECT_EQ(second->computed, 32);
  EXPECT_TRUE(third->admitted);
  scheduler->remove(*second);
  scheduler->remove(*third);
  pool.expect_all_free();
}

TEST(Scheduler, NobodyIsLetInToBeThrownOutAtOnce) {
  Pool pool(4);
  Steps scheduler(pool, {.rows = 64, .sequences = 2});
  const auto first = sequence_of(pool, 31), second = sequence_of(pool, 32);
  scheduler->add(*first);
  scheduler.step();
  scheduler->add(*second);
  scheduler.step();
  EXPECT_FALSE(second->admitted) << "the first will need a block of those that it would take";
  scheduler->remove(*first);
  scheduler.step();
  EXPECT_EQ(second->computed, 32);
  scheduler->remove(*second);
  pool.expect_all_free();
}

TEST(Scheduler, AChunkShrinksRatherThanThrowSomebodyOut) {
  Pool pool(3);
  Steps scheduler(pool, {.rows = 20, .sequences = 2});
  const auto a = sequence_of(pool, 40), b = sequence_of(pool, 2);
  scheduler->add(*a);
  scheduler.step();
  EXPECT_EQ(a->computed, 20);
  ASSERT_TRUE(b->blocks.reserve(1));  // a stranger holds the last block
  const auto parts = scheduler.plan();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].rows, 12);
  scheduler.commit(parts);
  EXPECT_EQ(scheduler->preemptions(), 0);
  b->blocks.truncate(0);
  scheduler->remove(*a);
  pool.expect_all_free();
}

TEST(Scheduler, APausedSequenceKeepsItsBlocksUntilSomebodyNeedsThem) {
  Pool pool(4);
  Steps scheduler(pool, {.rows = 64, .sequences = 2});
  const auto slow = sequence_of(pool, 40), other = sequence_of(pool, 5),
             large = sequence_of(pool, 50);
  scheduler->add(*slow);
  scheduler.step();
  slow->paused = true;
  EXPECT_TRUE(scheduler.plan().empty());
  EXPECT_EQ(slow->computed, 40);
  scheduler->add(*large);
  scheduler.step();
  EXPECT_FALSE(slow->admitted);
  EXPECT_EQ(large->computed, 50);
  scheduler->add(*other);
  slow->paused = false;
  scheduler->remove(*large);
  scheduler.step();
  EXPECT_EQ(slow->computed, 41) << "it comes back first";
  for (Sequence* s : {slow.get(), other.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

/// A reader is behind one step in five, beside a running sequence and a prompt that is too large to
/// be admitted even if the reader's sequence is preempted.
TEST(Scheduler, NobodyGivesWayToWhoCannotBeLetInAnyway) {
  Pool pool(40);
  Steps scheduler(pool, {.rows = 512, .sequences = 3});
  const auto runner = sequence_of(pool, 300), slow = sequence_of(pool, 50),
             large = sequence_of(pool, 500);
  for (Sequence* s : {runner.get(), slow.get(), large.get()}) scheduler->add(*s);
  for (int i = 0; i < 100; ++i) {
    slow->paused = i % 5 == 4;
    scheduler.step();
  }
  EXPECT_EQ(scheduler->preemptions(), 0);
  EXPECT_EQ(slow->length(), 50 + 80);
  EXPECT_FALSE(large->admitted);
  scheduler->remove(*runner);
  slow->paused = true;
  scheduler.step();
  EXPECT_TRUE(large->admitted);
  EXPECT_EQ(scheduler->preemptions(), 1);
  for (Sequence* s : {slow.get(), large.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

/// As above, with too few places instead of too few blocks.
TEST(Scheduler, NobodyGivesWayForAPlaceThatIsNotEnough) {
  Pool pool(40);
  Steps scheduler(pool, {.rows = 64, .sequences = 2});
  const auto runner = sequence_of(pool, 300), slow = sequence_of(pool, 50),
             large = sequence_of(pool, 400);
  for (Sequence* s : {runner.get(), slow.get(), large.get()}) scheduler->add(*s);
  while (slow->length() == 50) scheduler.step();
  slow->paused = true;
  scheduler.step();
  EXPECT_EQ(scheduler->preemptions(), 0);
  EXPECT_TRUE(slow->admitted);
  const auto small = sequence_of(pool, 5);
  scheduler->remove(*large);
  scheduler->add(*small);
  scheduler.step();
  EXPECT_TRUE(small->admitted);
  EXPECT_FALSE(slow->admitted);
  for (Sequence* s : {runner.get(), slow.get(), small.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, APartIsEmbeddingsOrTokensAndScoresAreAskedForOnce) {
  Pool pool(8);
  Steps scheduler(pool, {.rows = 6, .sequences = 1});
  std::vector<float> rows(8 * 4);
  const auto given = sequence_of(pool, 0);
  given->add_given(f32_view(rows.data(), 8, 4));
  given->tokens.insert(given->tokens.end(), {5, 6, 7});
  given->add_given(f32_view(rows.data(), 2, 4));
  given->add_given(f32_view(rows.data(), 1, 4));
  given->tokens.push_back(8);
  scheduler->add(*given);
  for (const std::int32_t count : {6, 2, 3, 2, 1, 1}) {
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].rows, count);
    scheduler.commit(parts);
  }
  scheduler->remove(*given);

  const auto scored = sequence_of(pool, 10);
  scored->score_end = 9;
  scheduler->add(*scored);
  auto parts = scheduler.plan();
  EXPECT_EQ(parts[0].first_score, 0);
  EXPECT_EQ(parts[0].scores, 6);
  scheduler.commit(parts);
  scored->computed = 2;  // as if it had been thrown out and begun again
  parts = scheduler.plan();
  EXPECT_EQ(parts[0].rows, 6);
  EXPECT_EQ(parts[0].first_score, 6);
  EXPECT_EQ(parts[0].scores, 2);
  scheduler.commit(parts);
  parts = scheduler.plan();
  EXPECT_EQ(parts[0].scores, 1);
  EXPECT_EQ(parts[0].outputs, 1);
  scheduler.commit(parts);
  scheduler->remove(*scored);
  pool.expect_all_free();
}

TEST(Scheduler, ARowIsShownAsHiddenStateOnce) {
  Pool pool(8);
  Steps scheduler(pool, {.rows = 6, .sequences = 2});
  const auto s = sequence_of(pool, 10);
  s->draws = false;
  s->hidden_next = 3;
  s->hidden_end = 10;
  scheduler->add(*s);
  for (const auto& [first, count] : {std::pair{3, 3}, {6, 2}, {8, 2}}) {
    const auto parts = scheduler.plan();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].first_hidden, first);
    EXPECT_EQ(parts[0].hidden, count);
    EXPECT_EQ(parts[0].outputs, 0);
    scheduler.commit(std::span<const StepPart>());
    if (first == 3) s->computed = 2;  // as if it had been thrown out and begun again
  }
  EXPECT_EQ(s->hidden_next, 10);
  EXPECT_TRUE(scheduler.plan().empty());
  scheduler->remove(*s);

  const auto last = sequence_of(pool, 10);
  last->draws = false;
  last->hidden_next = 9;
  last->hidden_end = 10;
  scheduler->add(*last);
  EXPECT_EQ(scheduler.plan()[0].hidden, 0);
  scheduler.commit(std::span<const StepPart>());
  EXPECT_EQ(scheduler.plan()[0].hidden, 1);
  scheduler.commit(std::span<const StepPart>());
  scheduler->remove(*last);
  pool.expect_all_free();
}

/// Number of rows of `s` in a step.
std::int64_t rows_of(std::span<const StepPart> parts, const Sequence& s) {
  std::int64_t rows = 0;
  for (const StepPart& part : parts) rows += part.sequence == &s ? part.rows : 0;
  return rows;
}

TEST(Scheduler, AShortPromptDrawsBesideALongOne) {
  Pool pool(600);
  Steps scheduler(pool, {.rows = 512, .sequences = 16});
  const auto first = sequence_of(pool, 4000), second = sequence_of(pool, 4000),
             small = sequence_of(pool, 20);
  scheduler->add(*first);
  scheduler.step();
  scheduler->add(*second);
  scheduler->add(*small);
  const auto parts = scheduler.plan();
  EXPECT_EQ(rows_of(parts, *small), 20);
  EXPECT_EQ(rows_of(parts, *second), 512 / 64);
  EXPECT_EQ(rows_of(parts, *first), 512 - 20 - 512 / 64);
  scheduler.commit(parts);
  EXPECT_EQ(small->length(), 21);
  for (Sequence* s : {first.get(), second.get(), small.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, ManyShortPromptsDrawBesideALongOne) {
  Pool pool(600);
  Steps scheduler(pool, {.rows = 512, .sequences = 16});
  const auto large = sequence_of(pool, 4000);
  scheduler->add(*large);
  scheduler.step();
  std::vector<std::unique_ptr<Sequence>> others;
  for (int i = 0; i < 10; ++i) scheduler->add(*others.emplace_back(sequence_of(pool, 20)));
  scheduler.step();
  for (const auto& s : others) EXPECT_EQ(s->length(), 21);
  EXPECT_EQ(large->computed, 512 + 512 - 10 * 20);
  for (const auto& s : others) scheduler->remove(*s);
  scheduler->remove(*large);
  pool.expect_all_free();
}

TEST(Scheduler, ALongPromptAdvancesWhileShortOnesKeepArriving) {
  Pool pool(600);
  Steps scheduler(pool, {.rows = 512, .sequences = 16});
  const auto large = sequence_of(pool, 4000);
  scheduler->add(*large);
  std::vector<std::unique_ptr<Sequence>> others;
  while (large->length() == 4000) {
    while (scheduler->waiting() < 16) {
      others.push_back(sequence_of(pool, 200));
      scheduler->add(*others.back());
    }
    const std::int64_t missing = large->missing();
    const auto parts = scheduler.plan();
    ASSERT_GE(rows_of(parts, *large), std::min<std::int64_t>(missing, 512 / 4));
    scheduler.commit(parts);
    std::erase_if(others, [&](const auto& s) {
      if (s->length() == 200) return false;
      scheduler->remove(*s);
      return true;
    });
  }
  EXPECT_EQ(scheduler->preemptions(), 0);
  for (const auto& s : others) scheduler->remove(*s);
  scheduler->remove(*large);
  pool.expect_all_free();
}

TEST(Scheduler, PromptsOfOneSizeDrawInTheirOrder) {
  Pool pool(100);
  Steps scheduler(pool, {.rows = 128, .sequences = 4});
  std::vector<std::unique_ptr<Sequence>> prompts;
  for (int i = 0; i < 3; ++i) scheduler->add(*prompts.emplace_back(sequence_of(pool, 300)));
  const auto parts = scheduler.plan();
  EXPECT_EQ(rows_of(parts, *prompts[0]), 128 - 2 * 2);
  EXPECT_EQ(rows_of(parts, *prompts[1]), 128 / 64);
  EXPECT_EQ(rows_of(parts, *prompts[2]), 128 / 64);
  scheduler.commit(parts);
  for (std::size_t i = 0; i < 3; ++i) {
    while (prompts[i]->length() == 300) scheduler.step();
    for (std::size_t later = i + 1; later < 3; ++later) EXPECT_EQ(prompts[later]->length(), 300);
    scheduler->remove(*prompts[i]);
  }
  pool.expect_all_free();
}

TEST(Scheduler, PromptsOfHigherPriorityGoBeforeShorterOnes) {
  Pool pool(100);
  Steps scheduler(pool, {.rows = 128, .sequences = 2, .waiting = {.policy = Policy::kPriority}});
  const auto urgent = sequence_of(pool, 1000), small = sequence_of(pool, 20);
  small->terms.priority = 1;
  scheduler->add(*urgent);
  scheduler->add(*small);
  const auto parts = scheduler.plan();
  EXPECT_EQ(rows_of(parts, *urgent), 128 - 2);
  EXPECT_EQ(rows_of(parts, *small), 128 / 64);
  scheduler.commit(parts);
  for (Sequence* s : {urgent.get(), small.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

/// Each prompt is shorter than those before it, and too long to end in the step beside them.
TEST(Scheduler, PromptsOfFallingLengthDoNotAllShareAStep) {
  Pool pool(2000);
  Steps scheduler(pool, {.rows = 512, .sequences = 128});
  const auto large = sequence_of(pool, 4000);
  scheduler->add(*large);
  scheduler.step();
  std::vector<std::unique_ptr<Sequence>> others;
  for (int i = 0; i < 100; ++i) scheduler->add(*others.emplace_back(sequence_of(pool, 250 - i)));
  for (int i = 0; i < 10; ++i) {
    const auto parts = scheduler.plan();
    EXPECT_LE(std::count_if(parts.begin(), parts.end(), [](const auto& p) { return !p.decode; }),
              8);
    EXPECT_GE(rows_of(parts, *large), 100);
    scheduler.commit(parts);
  }
  for (const auto& s : others) scheduler->remove(*s);
  scheduler->remove(*large);
  pool.expect_all_free();
}

/// Each step admits some prompts. They pause before they end, and all resume at once.
TEST(Scheduler, TheFirstPromptAdvancesBesideManyThatResume) {
  Pool pool(2500);
  Steps scheduler(pool, {.rows = 512, .sequences = 128});
  const auto large = sequence_of(pool, 6000);
  scheduler->add(*large);
  std::vector<std::unique_ptr<Sequence>> others;
  for (int i = 0; i < 90; ++i) scheduler->add(*others.emplace_back(sequence_of(pool, 300)));
  for (int i = 0; i < 14; ++i) {
    scheduler.step();
    for (const auto& s : others) s->paused = s->admitted;
  }
  std::int64_t prompts = 0;
  for (const auto& s : others) {
    prompts += s->admitted && s->missing() > 1 ? 1 : 0;
    s->paused = false;
  }
  ASSERT_GE(prompts, 64) << "1/64 of the rows for each would be all";
  const auto parts = scheduler.plan();
  EXPECT_GE(rows_of(parts, *large), 100);
  scheduler.commit(parts);
  for (const auto& s : others) scheduler->remove(*s);
  scheduler->remove(*large);
  pool.expect_all_free();
}

TEST(Scheduler, AChoiceThatSharesAPromptJoinsWithItsLastRow) {
  Pool pool(1000);
  Steps scheduler(pool, {.rows = 64, .sequences = 16});
  const auto first = sequence_of(pool, 100), choice = sequence_of(pool, 100);
  for (Sequence* s : {first.get(), choice.get()}) s->reads_cache = false;
  choice->tokens = first->tokens;
  scheduler->add(*first);
  while (first->length() == 100) scheduler.step();
  std::vector<std::unique_ptr<Sequence>> others;
  for (int i = 0; i < 8; ++i) scheduler->add(*others.emplace_back(sequence_of(pool, 1000)));
  scheduler.step();
  choice->fork_of = first.get();
  scheduler->add(*choice);
  scheduler.step();
  EXPECT_EQ(choice->length(), 101);
  for (Sequence* s : {first.get(), choice.get()}) scheduler->remove(*s);
  for (const auto& s : others) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, APromptEndsBesideNoneOfHigherPriority) {
  Pool pool(600);
  Steps scheduler(pool, {.rows = 64, .sequences = 16, .waiting = {.policy = Policy::kPriority}});
  std::vector<std::unique_ptr<Sequence>> urgent;
  for (int i = 0; i < 8; ++i) scheduler->add(*urgent.emplace_back(sequence_of(pool, 1000)));
  scheduler.step();
  const auto small = sequence_of(pool, 10), late = sequence_of(pool, 10);
  late->terms.priority = 1;
  scheduler->add(*late);
  scheduler.step();
  EXPECT_FALSE(late->admitted);
  scheduler->remove(*late);
  scheduler->add(*small);
  scheduler.step();
  EXPECT_EQ(small->length(), 11);
  scheduler->remove(*small);
  for (const auto& s : urgent) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, APromptKeepsTheBlocksForItsMissingRows) {
  Pool pool(30);
  Steps scheduler(pool, {.rows = 64, .sequences = 4});
  const auto large = sequence_of(pool, 400), middle = sequence_of(pool, 100),
             small = sequence_of(pool, 10);
  for (Sequence* s : {large.get(), middle.get(), small.get()}) scheduler->add(*s);
  while (large->length() == 400) {
    scheduler.step();
    EXPECT_FALSE(middle->admitted) << "7 blocks of 30, 25 of which are for the large one";
    EXPECT_FALSE(small->admitted) << "it would overtake the middle one";
  }
  scheduler->remove(*large);
  scheduler.step();
  EXPECT_TRUE(middle->admitted);
  EXPECT_TRUE(small->admitted);
  EXPECT_EQ(scheduler->preemptions(), 0);
  for (Sequence* s : {middle.get(), small.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, APromptWaitsForRowsThatARunningOneComputesForBoth) {
  Pool pool(100);
  Steps scheduler(pool, {.rows = 64, .sequences = 4});
  const auto large = sequence_of(pool, 400), other = sequence_of(pool, 110);
  std::copy_n(large->tokens.begin(), 100, other->tokens.begin());
  for (Sequence* s : {large.get(), other.get()}) scheduler->add(*s);
  scheduler.step();
  scheduler.step();
  EXPECT_EQ(large->computed, 128);
  EXPECT_FALSE(other->admitted);
  scheduler.step();
  EXPECT_EQ(other->cached, 96);
  EXPECT_EQ(other->length(), 111);
  for (Sequence* s : {large.get(), other.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST(Scheduler, APromptDoesNotWaitForRowsOfOneThatHardlyAdvances) {
  Pool pool(600);
  Steps scheduler(pool, {.rows = 64, .sequences = 8});
  const auto first = sequence_of(pool, 4000), next = sequence_of(pool, 400),
             slow = sequence_of(pool, 1000), other = sequence_of(pool, 500),
             small = sequence_of(pool, 5);
  std::copy_n(slow->tokens.begin(), 100, other->tokens.begin());
  for (Sequence* s : {first.get(), next.get(), slow.get()}) scheduler->add(*s);
  scheduler.step();
  EXPECT_EQ(slow->computed, 1);
  for (Sequence* s : {other.get(), small.get()}) scheduler->add(*s);
  scheduler.step();
  EXPECT_TRUE(other->admitted);
  EXPECT_EQ(small->length(), 6) << "it would wait behind the other";
  for (Sequence* s : {first.get(), next.get(), slow.get(), other.get(), small.get()}) {
    scheduler->remove(*s);
  }
  pool.expect_all_free();
}

/// Two steps under way. The host draws the second sequence's tokens.
class StepsAhead : public ::testing::Test {
 protected:
  void add(std::int64_t first_rows, std::int64_t second_rows) {
    first_ = sequence_of(pool_, first_rows);
    second_ = sequence_of(pool_, second_rows);
    second_->draws_ahead = false;
    for (Sequence* s : {first_.get(), second_.get()}) steps_->add(*s);
  }
  void end() {
    while (steps_->under_way() > 0) steps_.commit_oldest();
    for (Sequence* s : {first_.get(), second_.get()}) steps_->remove(*s);
    pool_.expect_all_free();
  }

  Pool pool_{3};
  Steps steps_{pool_, {.rows = 32, .sequences = 2, .pipeline_depth = 2}};
  std::unique_ptr<Sequence> first_, second_;
};

TEST_F(StepsAhead, ATokenThatTheHostDrawsIsContinuedAfterItsCommit) {
  add(4, 5);
  auto parts = steps_.plan();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(rows_of(parts, *first_), 4);
  EXPECT_EQ(rows_of(parts, *second_), 5);
  for (std::int64_t length = 5; length < 9; ++length) {
    parts = steps_.plan();  // continues the first sequence alone
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].sequence, first_.get());
    EXPECT_GE(parts[0].previous, 0);
    EXPECT_FALSE(second_->may_continue());
    steps_.commit_oldest();
    EXPECT_EQ(second_->length(), length + 1);
    parts = steps_.plan();
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].sequence, first_.get());
    EXPECT_EQ(parts[0].previous, 0);
    EXPECT_EQ(parts[1].sequence, second_.get());
    EXPECT_EQ(parts[1].previous, -1);
    EXPECT_EQ(parts[1].first, length);
    EXPECT_EQ(parts[1].rows, 1);
    steps_.commit_oldest();
  }
  EXPECT_EQ(first_->length(), 4 + 8);
  end();
}

TEST_F(StepsAhead, ThePromptOfAHostDrawnSequenceIsPlannedAhead) {
  add(1, 40);
  steps_->remove(*first_);
  for (const std::int32_t rows : {32, 8}) {
    const auto parts = steps_.plan();
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].rows, rows);
    EXPECT_EQ(parts[0].outputs, rows == 8 ? 1 : 0);
  }
  EXPECT_EQ(steps_->under_way(), 2);
  EXPECT_EQ(second_->computed, 0);
  steps_.commit_oldest();
  EXPECT_TRUE(steps_.plan().empty()) << "its token is not there";
  steps_.commit_oldest();
  EXPECT_EQ(second_->length(), 41);
  const auto parts = steps_.plan();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].first, 40);
  EXPECT_EQ(parts[0].previous, -1);
  end();
}

/// The first sequence needs a block for its pending token, and preempts the second one.
TEST_F(StepsAhead, APreemptedSequenceReturnsOnceTheHostHasItsToken) {
  add(16, 15);
  ASSERT_EQ(steps_.plan().size(), 2u);
  const auto stranger = sequence_of(pool_, 1);
  ASSERT_TRUE(stranger->blocks.reserve(1)) << "the last block";
  EXPECT_TRUE(steps_.plan().empty());
  EXPECT_EQ(steps_->preemptions(), 1);
  EXPECT_FALSE(second_->may_begin()) << "its token is not there";
  EXPECT_EQ(second_->pending, 1);
  steps_.commit_oldest();
  EXPECT_TRUE(second_->may_begin());
  EXPECT_EQ(second_->missing(), 16);
  ASSERT_EQ(rows_of(steps_.plan(), *first_), 1);
  steps_.commit_oldest();
  steps_->remove(*first_);
  stranger->blocks.truncate(0);
  const auto parts = steps_.plan();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].rows, 16);
  EXPECT_EQ(parts[0].outputs, 1);
  EXPECT_EQ(parts[0].previous, -1);
  steps_.commit_oldest();
  EXPECT_EQ(second_->length(), 17);
  end();
}

TEST_F(StepsAhead, AHostDrawnSequenceIsTruncatedBesideAStepOfOthers) {
  add(4, 5);
  steps_.plan();
  steps_.plan();
  steps_.commit_oldest();
  ASSERT_EQ(steps_->under_way(), 1);
  ASSERT_EQ(second_->length(), 6);
  steps_->truncate(*second_, 3);
  const auto parts = steps_.plan();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].sequence, second_.get());
  EXPECT_EQ(parts[1].first, 2);
  EXPECT_EQ(parts[1].rows, 1);
  EXPECT_EQ(parts[1].previous, -1);
  steps_.commit_oldest();
  EXPECT_EQ(second_->length(), 3);
  steps_.commit_oldest();
  EXPECT_EQ(second_->length(), 4);
  end();
}

TEST(Scheduler, KnowsWhatFitsAlone) {
  Pool pool(4, 8, 3);
  Steps scheduler(pool, {.rows = 16, .sequences = 1});
  EXPECT_TRUE(scheduler->fits_alone(64));
  EXPECT_FALSE(scheduler->fits_alone(65));
  Pool small(4, 8, 2);
  EXPECT_FALSE(Scheduler(small.cache(), {.rows = 16, .sequences = 1}).fits_alone(64));
}

/// Seconds of a step on a machine that needs 10 ms for tokens and 1 ms for each row of a prompt.
double seconds_of(std::span<const StepPart> parts) {
  double seconds = 0.010;
  for (const StepPart& part : parts) seconds += part.decode ? 0 : 0.001 * part.rows;
  return seconds;
}

/// Rows of the prompt in the last step in which it is not the rest, beside a sequence that draws.
std::int32_t last_chunk(double step_seconds) {
  Pool pool(200);
  Steps steps(pool, {.rows = 256, .sequences = 2, .step_seconds = step_seconds});
  auto draws = sequence_of(pool, 4);
  auto prompt = sequence_of(pool, 1000);
  std::int32_t chunk = 0;
  const auto step = [&] {
    const auto parts = steps.plan();
    for (const StepPart& part : parts) {
      if (part.sequence == prompt.get() && part.outputs == 0) chunk = part.rows;
    }
    steps.commit(parts, seconds_of(parts));
  };
  steps->add(*draws);
  for (int i = 0; i < 10; ++i) step();
  steps->add(*prompt);
  while (prompt->missing() > 1) step();
  for (Sequence* s : {draws.get(), prompt.get()}) steps->remove(*s);
  return chunk;
}

TEST(Scheduler, ChunksOfAPromptFitIntoTheTimeThatAStepMayTake) {
  EXPECT_NEAR(last_chunk(0.050), 40, 4);
  EXPECT_NEAR(last_chunk(0.110), 100, 10);
  EXPECT_NEAR(last_chunk(0), 4, 1) << "0.45 of a step without prompts";
  EXPECT_EQ(last_chunk(0.001), 2) << "some always go in";
}

/// Runs one sequence at a time, after enough steps to have measured 1 ms for a row.
class Prediction : public ::testing::Test {
 protected:
  Prediction() {
    auto first = sequence_of(pool_, 128);
    steps_->add(*first);
    for (int i = 0; i < 3; ++i) step();
    steps_->remove(*first);
  }
  void step() {
    const auto parts = steps_.plan();
    steps_.commit(parts, 0.001 * static_cast<double>(parts[0].rows));
  }
  Sequence& add(std::int64_t tokens, std::int32_t first_token = -1, std::uint64_t tenant = 0) {
    sequences_.push_back(sequence_of(pool_, tokens, first_token));
    sequences_.back()->terms.tenant = tenant;
    sequences_.back()->terms.first_token_by = 0;
    steps_->add(*sequences_.back());
    return *sequences_.back();
  }
  std::int64_t rows_before_first_token(const Sequence& s) {
    return std::llround(steps_->min_seconds(s, kLate).first_token * 1000);
  }
  ~Prediction() override {
    for (auto& s : sequences_) steps_->remove(*s);
  }

  static constexpr double kEarly = -1000, kLate = 1;

  Pool pool_{400};
  Steps steps_{pool_, {.rows = 64, .sequences = 1}};
  std::vector<std::unique_ptr<Sequence>> sequences_;
};

TEST_F(Prediction, CountsWhatIsMissingInFront) {
  add(201);
  add(101);
  Sequence& last = add(51);
  add(1000);
  EXPECT_EQ(rows_before_first_token(last), 201 + 101 + 51);
  step();
  EXPECT_EQ(rows_before_first_token(last), 201 + 101 + 51 - 64);
}

/// Two prompts share a step here, so that one of the long prompts may still be computed.
TEST(Scheduler, ThePredictionLeavesOutALongPromptThatAShortOneOvertakes) {
  Pool pool(400);
  Steps scheduler(pool, {.rows = 64, .sequences = 2});
  const auto first = sequence_of(pool, 64), large = sequence_of(pool, 1000),
             larger = sequence_of(pool, 1001), small = sequence_of(pool, 21);
  scheduler->add(*first);
  scheduler.commit(scheduler.plan(), 0.064);
  scheduler->remove(*first);
  for (Sequence* s : {large.get(), larger.get(), small.get()}) {
    s->terms.first_token_by = 0;
    scheduler->add(*s);
  }
  EXPECT_NEAR(scheduler->min_seconds(*small, 1).first_token, 1.021, 1e-9);
  EXPECT_NEAR(scheduler->min_seconds(*larger, 1).first_token, 2.001, 1e-9);
  scheduler->remove(*large);
  EXPECT_NEAR(scheduler->min_seconds(*small, 1).first_token, 0.021, 1e-9);
  for (Sequence* s : {larger.get(), small.get()}) scheduler->remove(*s);
  pool.expect_all_free();
}

TEST_F(Prediction, CountsWhatSeveralShareOnce) {
  for (int i = 0; i < 10; ++i) add(161 + i, 7);
  Sequence& last = add(201, 7);
  EXPECT_EQ(rows_before_first_token(last), 201);
  Sequence& other = add(101);
  EXPECT_EQ(rows_before_first_token(other), 201 + 101);
}

TEST_F(Prediction, CountsNothingThatIsThere) {
  Sequence& warm = add(160, 7);
  while (warm.computed < 160) step();
  for (int i = 0; i < 10; ++i) add(161, 7);
  EXPECT_EQ(rows_before_first_token(add(180, 7)), 10 * 1 + 19);
}

TEST_F(Prediction, OtherTenantsMayComeBehind) {
  for (int i = 0; i < 10; ++i) add(200, -1, 1);
  EXPECT_EQ(rows_before_first_token(add(101, -1, 2)), 101);
}

TEST_F(Prediction, ForksOfAPromptThatIsThereHaveARowEach) {
  Sequence& first = add(200);
  first.reads_cache = false;
  while (first.computed < 200) step();
  for (int i = 0; i < 3; ++i) {
    Sequence& other = add(200);
    other.fork_of = &first;
    first.forked = true;
    other.reads_cache = false;
  }
  EXPECT_EQ(rows_before_first_token(add(101)), 3 + 101);
}

TEST_F(Prediction, WhatIsInTimeAnywayIsNotLookedAtFurther) {
  for (int i = 0; i < 10; ++i) add(161, 7);
  EXPECT_NEAR(steps_->min_seconds(add(161, 7), kEarly).first_token, 11 * 0.161, 1e-9);
}

TEST_F(Prediction, AReaderThatIsBehindKeepsNobodyWaiting) {
  add(201).paused = true;
  EXPECT_EQ(rows_before_first_token(add(101)), 101);
}

}  // namespace
}  // namespace ingot
