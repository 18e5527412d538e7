// forced_run: forced texts by hand and of random sets of texts, and the matcher after a run.
#include "runtime/draft/forced_run.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/index.h"
#include "constraint/constraint.h"

namespace ingot {
namespace {

using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

/// Tokens a to h, and longer ones. Token 10 has the text of token 8. Token 12 has none.
const Texts kTokens = {"a", "b", "c", "d", "e", "f", "g", "h", "ab", "abc", "ab", "cd", ""};

std::shared_ptr<const TokenTrie> vocabulary(std::int32_t tokens) {
  return std::make_shared<const TokenTrie>(tokens, [](std::int32_t id) -> TokenTrie::Token {
    const std::string& text = at(kTokens, id);
    return {.bytes = text, .use = text.empty() ? TokenUse::kNone : TokenUse::kText};
  });
}

class ForcedRun : public ::testing::Test {
 protected:
  Matcher matcher(ConstraintSpec spec) const {
    return Matcher(compile_constraint(spec, trie_)->grammar);
  }
  Matcher one_of(Texts texts) const {
    return matcher({.form = ConstraintSpec::OneOf{std::move(texts)}});
  }
  Matcher regex(std::string pattern) const {
    return matcher({.form = ConstraintSpec::Regex{std::move(pattern)}});
  }
  Ids run(Matcher& matcher, std::int64_t most = 8) const {
    Ids out(to_size(most));
    out.resize(to_size(forced_run(matcher, *trie_, out)));
    return out;
  }
  Ids run(Matcher&& matcher) const { return run(matcher); }

  std::shared_ptr<const TokenTrie> trie_ = vocabulary(static_cast<std::int32_t>(kTokens.size()));
};

TEST_F(ForcedRun, SpellsAForcedTextInItsLongestTokens) {
  EXPECT_EQ(run(one_of({"hgf"})), (Ids{7, 6, 5}));
  EXPECT_EQ(run(one_of({"abcde"})), (Ids{9, 3, 4})) << "not ab, cd, e";
  EXPECT_EQ(run(one_of({"habd"})), (Ids{7, 8, 3})) << "the lower id of ab";
}

TEST_F(ForcedRun, EndsWhereTheTextMayBranch) {
  EXPECT_EQ(run(one_of({"ha", "hg"})), Ids{7});
  EXPECT_EQ(run(one_of({"a", "g"})), Ids{});
  EXPECT_EQ(run(one_of({"habd", "habe"})), (Ids{7, 8}));
  EXPECT_EQ(run(one_of({"hcd", "hce"})), (Ids{7, 11})) << "a guess: there is no token ce";
  EXPECT_EQ(run(regex("h[a-c]g")), Ids{7});
}

TEST_F(ForcedRun, EndsWhereTheTextMayEnd) {
  EXPECT_EQ(run(regex("h(gf)*")), Ids{7});
  EXPECT_EQ(run(regex("(gf)*")), Ids{});
  Matcher over = one_of({"h"});
  ASSERT_TRUE(over.accept(7));
  EXPECT_EQ(run(over), Ids{});
}

TEST_F(ForcedRun, FillsNoMoreThanItsRoom) {
  Matcher matcher = one_of({"hgfedh"});
  EXPECT_EQ(run(matcher, 2), (Ids{7, 6}));
  EXPECT_EQ(run(matcher, 0), Ids{});
}

TEST_F(ForcedRun, LeavesTheMatchersText) {
  Matcher matcher = one_of({"hgfed", "hgfeh"});
  ASSERT_TRUE(matcher.accept(7));
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(run(matcher), (Ids{6, 5, 4}));
    EXPECT_EQ(matcher.tokens(), 1);
    const auto mask = matcher.mask();
    EXPECT_EQ(Ids(mask.begin(), mask.end()), Ids{1 << 6});
  }
  for (const std::int32_t id : {6, 5, 4, 3}) ASSERT_TRUE(matcher.accept(id));
  EXPECT_FALSE(matcher.may_continue());
}

/// Returns the text that all texts begin with.
std::string common_begin(const Texts& texts) {
  std::string common = texts[0];
  for (const std::string& text : texts) {
    while (!text.starts_with(common)) common.pop_back();
  }
  return common;
}

/// In a vocabulary of letters, each forced token is one letter that all texts have.
TEST_F(ForcedRun, SpellsTheCommonBeginOfRandomTexts) {
  trie_ = vocabulary(8);
  std::mt19937_64 random(3);
  const auto letters = [&](std::uint64_t most) {
    std::string text(random() % (most + 1), 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 500; ++i) {
    const std::string begin = letters(5) + "h";
    Texts texts(1 + random() % 3);
    for (std::string& text : texts) text = begin + letters(4);
    Matcher matcher = one_of(texts);
    std::string spelled;
    for (const std::int32_t id : run(matcher, 20)) spelled += at(kTokens, id);
    ASSERT_EQ(spelled, common_begin(texts)) << i;
  }
}

TEST_F(ForcedRun, AnEmptyMaskForcesNothing) {
  EXPECT_EQ(forced_token({}, *trie_), -1);
  EXPECT_EQ(forced_token(std::vector<std::uint32_t>{0}, *trie_), -1);
}

}  // namespace
}  // namespace ingot
