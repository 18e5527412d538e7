// ReasoningWatch: where the block begins and ends, and when it has to be closed.
#include "runtime/reasoning_watch.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

constexpr std::int32_t kText = 1;  // a token that closes nothing

ReasoningBudget budget(std::int64_t tokens, bool open = false) {
  return {.tokens = tokens, .open = open, .begin = "<think>", .end = "</think>", .close = {7, 8}};
}

/// Adds the texts of tokens. Returns `forced` before each of them and at the end.
std::vector<std::int32_t> forced_in(const ReasoningBudget& budget,
                                    const std::vector<std::string_view>& texts) {
  ReasoningWatch watch(budget);
  std::vector<std::int32_t> all;
  for (const std::string_view text : texts) {
    all.push_back(watch.forced());
    watch.add(kText, text);
  }
  all.push_back(watch.forced());
  return all;
}

TEST(ReasoningWatch, CountsTheTokensBehindTheTag) {
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(forced_in(budget(2), {"\n <", "think", ">", "a", "b"}), (Ids{-1, -1, -1, -1, -1, 7}));
  EXPECT_EQ(forced_in(budget(1), {"<think> a", "b"}), (Ids{-1, -1, 7}));
  EXPECT_EQ(forced_in(budget(0), {"<think>"}), (Ids{-1, 7}));
  EXPECT_EQ(forced_in(budget(2, true), {"a", "b"}), (Ids{-1, -1, 7}));
  EXPECT_EQ(forced_in(budget(0, true), {}), Ids{7});
}

TEST(ReasoningWatch, ABlockThatEndsInTimeIsLeftAlone) {
  for (const std::vector<std::string_view>& texts :
       {std::vector<std::string_view>{"<think>a", "b</", "thi", "nk> c", "d", "e", "<think>", "f"},
        {"<think></think>", "a", "b", "c", "d", "e"},
        {"text", "<think>", "a", "b", "c", "d", "e"},
        {"<thin", "g>", "<think>", "b", "c", "d", "e"}}) {
    const ReasoningBudget four = budget(4);
    ReasoningWatch watch(four);
    for (const std::string_view text : texts) {
      EXPECT_EQ(watch.forced(), -1);
      watch.add(kText, text);
    }
    EXPECT_EQ(watch.forced(), -1);
    EXPECT_FALSE(watch.may_force());
  }
}

TEST(ReasoningWatch, TheClosingTokensFollowOneByOne) {
  const ReasoningBudget one = budget(1, true);
  ReasoningWatch watch(one);
  watch.add(kText, "a");
  ASSERT_EQ(watch.forced(), 7);
  watch.add(7, "</think>");
  EXPECT_TRUE(watch.may_force());
  ASSERT_EQ(watch.forced(), 8);
  watch.add(8, "\n");
  EXPECT_EQ(watch.forced(), -1);
  EXPECT_FALSE(watch.may_force());
}

/// An earlier request drew these tokens with a larger budget.
TEST(ReasoningWatch, AContinuedTextMayHaveExceededTheBudget) {
  const ReasoningBudget one = budget(1, true);
  ReasoningWatch watch(one);
  for (const std::string_view text : {"a", "b", "c"}) watch.add(kText, text);
  EXPECT_EQ(watch.forced(), 7);
  watch.add(7, "");
  watch.add(kText, "d");
  EXPECT_EQ(watch.forced(), 7) << "the closing tokens were interrupted";
  watch.add(kText, "</think>");
  EXPECT_EQ(watch.forced(), -1);
}

TEST(ReasoningWatch, WaitsUntilTheFirstClosingTokenMayFollow) {
  const ReasoningBudget one = budget(1, true);
  ReasoningWatch watch(one);
  watch.add(kText, "a");
  watch.refuse_forced();
  watch.add(kText, "b");
  ASSERT_EQ(watch.forced(), 7);
  watch.add(7, "</think>");
  ASSERT_EQ(watch.forced(), 8);
  watch.refuse_forced();
  EXPECT_EQ(watch.forced(), -1);
  EXPECT_FALSE(watch.may_force());
}

TEST(ReasoningWatch, WithoutATagThatOpensOnlyThePromptDoes) {
  ReasoningBudget untagged = budget(0);
  untagged.begin.clear();
  EXPECT_FALSE(ReasoningWatch(untagged).may_force());
  untagged.open = true;
  EXPECT_TRUE(ReasoningWatch(untagged).may_force());
}

}  // namespace
}  // namespace ingot
