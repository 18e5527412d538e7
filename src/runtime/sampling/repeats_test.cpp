// DRY: repetitions of small sequences by hand, against a direct search, and sequence breakers.
#include "runtime/sampling/repeats.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing {
namespace {

using Ids = std::vector<std::int32_t>;

/// All repetitions as "id:length ", from the last token back.
std::string repeats(const Ids& tokens, std::int64_t least) {
  std::string text;
  each_repeat(tokens, least,
              [&](std::int32_t id, std::int64_t length) { text += cat(id, ":", length, " "); });
  return text;
}

TEST(Repeats, SmallSequences) {
  EXPECT_EQ(repeats({1, 2, 3, 4, 1, 2, 3}, 2), "4:3 ");
  EXPECT_EQ(repeats({1, 2, 3, 4, 1, 2, 3}, 3), "4:3 ");
  EXPECT_EQ(repeats({1, 2, 3, 4, 1, 2, 3}, 4), "");
  EXPECT_EQ(repeats({1, 2, 5, 9, 3, 2, 5, 8, 1, 2, 5}, 2), "8:2 9:3 ");
  EXPECT_EQ(repeats({1, 2, 3}, 1), "");
  EXPECT_EQ(repeats({3}, 1), "");
  EXPECT_EQ(repeats({}, 1), "");
  // A repetition may overlap the last tokens.
  EXPECT_EQ(repeats({7, 7, 7, 7}, 1), "7:3 7:2 7:1 ");
}

TEST(Repeats, NoRepetitionContainsOrExtendsToABreaker) {
  constexpr std::int32_t kB = kBreakerToken;
  EXPECT_EQ(repeats({1, 2, kB, 1, 2}, 1), "") << "a breaker behind it";
  EXPECT_EQ(repeats({kB, 1, 2, 3, kB, 1, 2}, 1), "3:2 ");
  EXPECT_EQ(repeats({9, 1, 2, 3, 4, 9, kB, 1, 2}, 2), "3:2 ");
  EXPECT_EQ(repeats({1, 2, 3, 1, 2, kB}, 1), "") << "a breaker last";
}

TEST(Repeats, CountUpToTheLimit) {
  const Ids tokens(200, 7);
  std::int64_t longest = 0;
  each_repeat(tokens, 1, [&](std::int32_t, std::int64_t n) { longest = std::max(longest, n); });
  EXPECT_EQ(longest, kRepeatMax);
}

/// The definition: compares token by token at each place.
std::string direct_repeats(const Ids& tokens, std::int64_t least) {
  std::string text;
  const auto count = std::ssize(tokens);
  for (std::int64_t next = count - 1; next > 0; --next) {
    std::int64_t length = 0;
    while (length < kRepeatMax && length < next) {
      const std::int32_t id = at(tokens, next - 1 - length);
      if (id == kBreakerToken || id != at(tokens, count - 1 - length)) break;
      ++length;
    }
    if (length >= least && at(tokens, next) != kBreakerToken) {
      text += cat(at(tokens, next), ":", length, " ");
    }
  }
  return text;
}

TEST(Repeats, AreThoseOfADirectSearch) {
  std::mt19937_64 random(5);
  for (int run = 0; run < 2000; ++run) {
    Ids tokens(1 + random() % 200);
    const std::uint64_t kinds = 1 + random() % 3;
    for (std::int32_t& id : tokens) {
      id = random() % 40 == 0 ? kBreakerToken : static_cast<std::int32_t>(random() % kinds);
    }
    const auto least = static_cast<std::int64_t>(1 + random() % 4);
    ASSERT_EQ(repeats(tokens, least), direct_repeats(tokens, least)) << run;
  }
}

/// The history of a text, encoded by bytes and the token 256, "th". A breaker is shown as -1.
Ids history(std::string_view text, const std::vector<std::string>& breakers) {
  std::vector<std::string> warnings;
  const auto tokenizer = make_tokenizer(byte_level_data("gpt-2", {{"t", "h"}}), warnings);
  RepeatHistory history(breakers, tokenizer.get());
  for (const std::int32_t id : tokenizer->encode(text)) history.add(id);
  const auto all = history.last(-1);
  return {all.begin(), all.end()};
}

TEST(RepeatHistory, ATokenInWhichABreakerEndsIsABreaker) {
  EXPECT_EQ(history("a:b", {"\n", ":"}), (Ids{'a', -1, 'b'}));
  EXPECT_EQ(history("a:b", {}), (Ids{'a', ':', 'b'}));
  EXPECT_EQ(history("th", {"h"}), (Ids{-1})) << "within a longer token";
  EXPECT_EQ(history("a#b##a", {"##"}), (Ids{'a', '#', 'b', '#', -1, 'a'})) << "of two tokens";
  EXPECT_EQ(history("###", {"##"}), (Ids{'#', -1, -1})) << "two that overlap";
  EXPECT_EQ(history("xthe", {"xt"}), (Ids{'x', -1, 'e'})) << "ends within a token";
}

TEST(RepeatHistory, GivesTheLastTokensAndNeedsNoTokenizer) {
  const std::vector<std::string> breakers{":"};
  RepeatHistory history(breakers, nullptr);
  for (const std::int32_t id : {':', 'a', 'b'}) history.add(id);
  EXPECT_EQ(history.last(-1).size(), 3u);
  EXPECT_EQ(history.last(-1)[0], ':');
  EXPECT_EQ(history.last(0).size(), 0u);
  EXPECT_EQ(history.last(9).size(), 3u);
  ASSERT_EQ(history.last(2).size(), 2u);
  EXPECT_EQ(history.last(2)[0], 'a');
}

}  // namespace
}  // namespace ingot::testing
