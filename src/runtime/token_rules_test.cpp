// TokenRules: masks, end tokens and tokens that close reasoning, as one rule for the next token.
#include "runtime/token_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "constraint/constraint.h"

namespace ingot {
namespace {

/// Token i is the letter a + i. Tokens from 26 on have no text.
std::shared_ptr<const TokenTrie> letters() {
  static const std::string text = "abcdefghijklmnopqrstuvwxyz";
  return std::make_shared<const TokenTrie>(32, [](std::int32_t id) -> TokenTrie::Token {
    if (id >= 26) return {};
    return {.bytes = std::string_view(text).substr(static_cast<std::size_t>(id), 1),
            .use = TokenUse::kText};
  });
}

/// "x", then "ab" zero to two times.
std::shared_ptr<const Constraint> example() {
  CompileBudget budget;
  Grammar g;
  const NodeId repeat = g.add(grammar::Repeat{.part = g.literal("ab", budget), .count_max = 2});
  g.set_root(g.sequence({g.literal("x", budget), repeat}));
  return make_constraint(std::move(g), {}, letters(), budget);
}

constexpr std::int32_t kA = 0, kB = 1, kX = 23, kEnd = 30, kFarEnd = 70;

class TokenRulesTest : public ::testing::Test {
 protected:
  TokenRules begin() { return TokenRules(request_, begin_matcher(request_)); }
  /// The ids that may come next.
  static std::vector<std::int32_t> next(TokenRules& rules, std::uint64_t index) {
    rules.choose(index);
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < 32 * rules.mask().size(); ++i) {
      if ((rules.mask()[i / 32] >> (i % 32) & 1) != 0) ids.push_back(static_cast<std::int32_t>(i));
    }
    return ids;
  }
  static void take(TokenRules& rules, const std::vector<std::int32_t>& ids) {
    for (const std::int32_t id : ids) ASSERT_TRUE(rules.accept(id)) << id;
  }

  Request request_{.prompt = {1}, .sampling = {.end_ids = {kEnd}}, .constraint = example()};
};

using Ids = std::vector<std::int32_t>;

TEST_F(TokenRulesTest, EndTokensJoinTheMaskOfACompleteText) {
  request_.sampling.end_ids = {kEnd, kFarEnd};
  TokenRules rules = begin();
  EXPECT_EQ(next(rules, 0), Ids{kX});
  EXPECT_EQ(rules.forced(), kX);
  EXPECT_FALSE(rules.ends_at(kEnd));
  take(rules, {kX});
  EXPECT_EQ(next(rules, 1), (Ids{kA, kEnd, kFarEnd}));
  EXPECT_EQ(rules.forced(), -1);
  EXPECT_TRUE(rules.ends_at(kFarEnd));
  take(rules, {kA});
  EXPECT_EQ(next(rules, 2), Ids{kB});
  EXPECT_FALSE(rules.is_complete());
  take(rules, {kB, kA, kB});
  EXPECT_TRUE(rules.is_over());
}

TEST_F(TokenRulesTest, WhatMayComeNextIsFoundOnceForEachToken) {
  TokenRules rules = begin();
  EXPECT_TRUE(rules.must_choose());
  rules.choose(0);
  EXPECT_FALSE(rules.must_choose());
  EXPECT_FALSE(rules.accept(kA));
  EXPECT_FALSE(rules.must_choose()) << "nothing was accepted";
  take(rules, {kX});
  EXPECT_TRUE(rules.must_choose());
  const Request free{.prompt = {1}};
  EXPECT_FALSE(TokenRules(free, begin_matcher(free)).must_choose());
}

TEST_F(TokenRulesTest, BeforeMinTokensTheTextGoesOnIfItCan) {
  request_.sampling.min_tokens = 9;
  TokenRules rules = begin();
  take(rules, {kX});
  EXPECT_EQ(next(rules, 1), Ids{kA});
  request_.sampling.end_ids.push_back(kA);
  TokenRules ending = begin();
  take(ending, {kX});
  EXPECT_EQ(next(ending, 1), (Ids{kA, kEnd})) << "only end tokens are left";
  EXPECT_TRUE(ending.ends_at(kA));
  take(ending, {kA});
  EXPECT_FALSE(ending.ends_at(kB));
}

TEST_F(TokenRulesTest, ContinuesTheTextOfThePrompt) {
  request_.prompt = {5, kX, kA};
  request_.continued = 2;
  TokenRules rules = begin();
  EXPECT_EQ(next(rules, 2), Ids{kB});
  request_.continued = 3;
  EXPECT_THROW(static_cast<void>(begin_matcher(request_)), Error);
}

TEST_F(TokenRulesTest, ClosesReasoningWithoutAConstraint) {
  request_.constraint = nullptr;
  request_.reasoning = {.tokens = 1, .open = true, .end = "q", .close = {kEnd, 16}};
  TokenRules rules = begin();
  const auto add = [&](std::int32_t id, std::string_view text) {
    take(rules, {id});
    rules.add_text(id, text);
    rules.choose(0);
    return rules.forced();
  };
  EXPECT_TRUE(rules.needs_last_token());
  EXPECT_EQ(add(3, "d"), kEnd);
  EXPECT_TRUE(rules.mask().empty());
  EXPECT_FALSE(rules.ends_at(kEnd)) << "it closes the reasoning";
  EXPECT_EQ(add(kEnd, ""), 16);
  EXPECT_EQ(add(16, "q"), -1);
  EXPECT_TRUE(rules.ends_at(kEnd));
  EXPECT_FALSE(rules.needs_last_token());
}

TEST_F(TokenRulesTest, ReasoningIsClosedOnlyWhereTheConstraintAllowsIt) {
  request_.reasoning = {.tokens = 0, .open = true, .end = "b", .close = {kA, kB, kB}};
  TokenRules rules = begin();
  EXPECT_EQ(next(rules, 0), Ids{kX}) << "it does not begin with a";
  EXPECT_EQ(rules.forced(), kX);
  take(rules, {kX});
  rules.add_text(kX, "x");
  rules.choose(1);
  EXPECT_EQ(rules.forced(), kA) << "the text may not end before";
  take(rules, {kA});
  rules.add_text(kA, "a");
  rules.choose(2);
  EXPECT_EQ(rules.forced(), kB);
  take(rules, {kB});
  rules.add_text(kB, "b");
  EXPECT_EQ(next(rules, 3), (Ids{kA, kEnd})) << "no second b may follow";
  EXPECT_EQ(rules.forced(), -1);
}

}  // namespace
}  // namespace ingot
