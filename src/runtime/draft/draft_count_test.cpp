// DraftCount: more drafts where steps cost little, none where they cost more than they give.
#include "runtime/draft/draft_count.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

/// Steps of `rows` rows that take 10 ms and `each` ms for each row.
StepTimes measured(double each, std::initializer_list<int> sizes) {
  StepTimes times;
  for (int i = 0; i < 20; ++i) {
    for (const int rows : sizes) times.add(rows, 0, (10 + each * rows) / 1000);
  }
  return times;
}

TEST(DraftCount, TriesSizesThatWereNeverMeasured) {
  const StepTimes none;
  EXPECT_EQ(DraftCount(none).choose(1, std::vector{0.9f, 0.5f}), 2);
  const StepTimes one = measured(1, {1});
  EXPECT_EQ(DraftCount(one).choose(1, std::vector{0.9f, 0.5f}), 2);
}

TEST(DraftCount, TriesThemOnlyWithLikelyDrafts) {
  const StepTimes one = measured(1, {16});
  EXPECT_EQ(DraftCount(one).choose(16, std::vector{0.9f, 0.5f, 0.4f, 0.3f}), 2);
  EXPECT_EQ(DraftCount(one).choose(16, std::vector{0.4f, 0.3f}), 0);
}

/// 1 + 0.9 tokens in 12 ms are more a second than 1 in 11 ms. A row of 0.1 tokens adds 8% of the
/// time and at most 5% of the tokens.
TEST(DraftCount, KeepsWhatPays) {
  const StepTimes times = measured(1, {1, 2, 4, 8, 16});
  DraftCount count(times);
  EXPECT_EQ(count.choose(1, std::vector{0.9f, 0.8f, 0.7f, 0.1f, 0.05f}), 3);
  EXPECT_EQ(count.choose(1, std::vector{0.05f}), 0);
  EXPECT_EQ(count.choose(1, {}), 0);
}

/// The rows of many sequences make steps long. Then a draft costs as much as a token of another.
TEST(DraftCount, FallsToZeroWithManySequences) {
  const StepTimes times = measured(20, {1, 2, 4, 8, 16, 32, 64});
  DraftCount count(times);
  for (const int rows : {16, 32}) EXPECT_EQ(count.choose(rows, std::vector{0.6f, 0.4f}), 0);
}

TEST(DraftCount, LikelyDraftsThatDoNotPayAreTriedNowAndThen) {
  const StepTimes times = measured(1000, {1, 2, 4, 8});
  DraftCount count(times);
  int tried = 0;
  for (int i = 0; i < 1000; ++i)
    tried += count.choose(1, std::vector{0.9f, 0.8f, 0.2f}) > 0 ? 1 : 0;
  EXPECT_GE(tried, 1);
  EXPECT_LE(tried, 4);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(count.choose(1, std::vector{0.3f}), 0);
}

/// Drafts of a model take time before the step.
TEST(DraftCount, DraftsOfAModelMustPayTheirOwnTime) {
  const StepTimes times = measured(0.1, {1, 2, 4, 8, 16});
  DraftCount count(times);
  EXPECT_EQ(count.choose_each(1, 0.9, 0.020, 8), 0);
  EXPECT_GE(count.choose_each(1, 0.9, 0.001, 8), 4);
  EXPECT_EQ(count.choose_each(1, 0.0, 0.001, 8), 0);
  EXPECT_EQ(count.choose_each(1, 1.0, 0.0, 8), 8);
  int tried = 0;
  for (int i = 0; i < 1000; ++i) tried += count.choose_each(1, 0.0, 0.001, 8) > 0 ? 1 : 0;
  EXPECT_GE(tried, 1);
  EXPECT_LE(tried, 4);
  const StepTimes one = measured(0.1, {1});
  EXPECT_EQ(DraftCount(one).choose_each(1, 1.0, 0.0, 32), 4) << "a size that was never measured";
}

}  // namespace
}  // namespace ingot
