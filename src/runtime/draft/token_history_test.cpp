// TokenHistory: matches against a search of all places, limits, seams, rings and continuations.
#include "runtime/draft/token_history.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace ingot {

inline bool operator==(const TokenHistory::Match& a, const TokenHistory::Match& b) {
  return a.length == b.length && a.place == b.place;
}
inline void PrintTo(const TokenHistory::Match& match, std::ostream* out) {
  *out << "length " << match.length << " place " << match.place;
}

namespace {

using Ids = std::vector<std::int32_t>;
using Match = TokenHistory::Match;
constexpr std::int32_t kBreak = TokenHistory::kBreak;

TokenHistory history_of(const Ids& ids, std::int64_t tokens = 1024) {
  TokenHistory history(tokens);
  history.add(ids);
  return history;
}

Ids continuation(const TokenHistory& history, std::int64_t place, std::int64_t count) {
  Ids out(to_size(count));
  out.resize(to_size(history.continuation(place, out)));
  return out;
}

/// The tokens behind the match of `context`.
Ids draft(const TokenHistory& history, const Ids& context, std::int64_t count) {
  return continuation(history, history.find(context).place, count);
}

/// The number of tokens that end both texts.
std::int64_t common_end(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  std::int64_t length = 0;
  const std::int64_t most = std::min({std::ssize(a), std::ssize(b), kMatchMax});
  while (length < most && a[a.size() - 1 - to_size(length)] >= 0 &&
         a[a.size() - 1 - to_size(length)] == b[b.size() - 1 - to_size(length)]) {
    ++length;
  }
  return length;
}

/// The definition: compares at each of the last `held` places of a history of `ids`.
Match naive_find(std::span<const std::int32_t> ids, std::int64_t held, const Ids& context) {
  Match best;
  const std::int64_t oldest = std::max<std::int64_t>(0, std::ssize(ids) - held);
  for (std::int64_t i = std::ssize(ids) - 1; i > oldest; --i) {
    const auto before = ids.subspan(to_size(oldest), to_size(i - oldest));
    const std::int64_t length = ids[to_size(i)] < 0 ? 0 : common_end(context, before);
    if (length >= kMatchMin && length > best.length) best = {.length = length, .place = i + 1};
  }
  return best;
}

Ids random_ids(std::mt19937_64& random, std::int64_t count, std::uint64_t kinds) {
  Ids ids(to_size(count));
  for (std::int32_t& id : ids) {
    id = random() % 50 == 0 ? kBreak : static_cast<std::int32_t>(random() % kinds);
  }
  return ids;
}

TEST(TokenHistory, FindsTheLongestMatchThenTheLatest) {
  const TokenHistory history = history_of({1, 2, 3, 9, 2, 3, 8, 1, 2, 3, 7, 5, 3, 6});
  EXPECT_EQ(history.find(Ids{1, 2, 3}), (Match{.length = 3, .place = 11}));
  EXPECT_EQ(history.find(Ids{9, 2, 3}), (Match{.length = 3, .place = 7}));
  EXPECT_EQ(history.find(Ids{4, 2, 3}), (Match{.length = 2, .place = 11}));
  EXPECT_EQ(history.find(Ids{4, 4, 3}), Match{}) << "a single token is no match";
  EXPECT_EQ(history.find(Ids{3}), Match{});
  EXPECT_EQ(history.find(Ids{}), Match{});
  EXPECT_EQ(draft(history, {9, 2, 3}, 3), (Ids{8, 1, 2}));
}

TEST(TokenHistory, ItsOwnEndIsNoMatch) {
  EXPECT_EQ(history_of({1, 2, 3, 4}).find(Ids{2, 3, 4}), Match{});
  EXPECT_EQ(history_of({1, 2, 3, 4, 1, 2}).find(Ids{1, 2, 3, 4, 1, 2}),
            (Match{.length = 2, .place = 3}));
}

TEST(TokenHistory, APeriodicTextGoesOnPeriodically) {
  const Ids text = {9, 4, 5, 6, 4, 5, 6};
  const TokenHistory history = history_of(text);
  EXPECT_EQ(history.find(text), (Match{.length = 3, .place = 5}));
  EXPECT_EQ(draft(history, text, 8), (Ids{4, 5, 6, 4, 5, 6, 4, 5}));
  EXPECT_EQ(draft(history_of({7, 7, 7}), {7, 7, 7}, 4), (Ids{7, 7, 7, 7}));
}

TEST(TokenHistory, NothingMatchesAcrossABreakOrAGivenRow) {
  const TokenHistory history = history_of({1, 2, 3, kBreak, 4, 5, 6, 1, 2, kBreak});
  EXPECT_EQ(history.find(Ids{3, kBreak, 4, 5}), (Match{.length = 2, .place = 7}));
  EXPECT_EQ(history.find(Ids{5, 6, 1, 2}), (Match{.length = 2, .place = 3}))
      << "no token follows the later one";
  EXPECT_EQ(history.find(Ids{1, kBreak}), Match{});
  EXPECT_EQ(history.find(Ids{kBreak, 1}), Match{});
  EXPECT_EQ(history.find(Ids{kBreak, kBreak}), Match{});
  EXPECT_EQ(history.find(Ids{3, kBreak}), Match{});
  EXPECT_EQ(draft(history, {1, 2}, 8), Ids{3});
  EXPECT_EQ(draft(history, {5, 6}, 8), (Ids{1, 2})) << "the last token is a break";
}

TEST(TokenHistory, CountsUpToTheLimit) {
  const Ids text(200, 7);
  EXPECT_EQ(history_of(text).find(text), (Match{.length = kMatchMax, .place = 200}));
}

/// Short texts, in which no search reaches kPlacesMax.
TEST(TokenHistory, MatchesAreThoseOfASearchOfAllPlaces) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 2000; ++run) {
    const std::uint64_t kinds = 1 + random() % 5;
    const std::int64_t tokens = std::int64_t{4} << random() % 7;
    ASSERT_LE(tokens, kPlacesMax);
    const Ids ids = random_ids(random, static_cast<std::int64_t>(random() % 600), kinds);
    const TokenHistory history = history_of(ids, tokens);
    for (const Ids& context : {ids, random_ids(random, 20, kinds)}) {
      ASSERT_EQ(history.find(context), naive_find(ids, tokens, context)) << "run " << run;
    }
  }
}

/// Long texts: a match is as long as it says and no shorter than those of the latest places.
TEST(TokenHistory, LongTextsHaveAtLeastTheLatestMatches) {
  std::mt19937_64 random(2);
  for (int run = 0; run < 200; ++run) {
    const std::uint64_t kinds = 1 + random() % 5;
    const Ids ids = random_ids(random, 3000, kinds);
    const Ids context = random_ids(random, 20, kinds);
    const Match match = history_of(ids, 2048).find(context);
    ASSERT_GE(match.length, naive_find(ids, kPlacesMax, context).length);
    if (match.length == 0) continue;
    const std::span<const std::int32_t> all(ids);
    ASSERT_EQ(match.length, common_end(context, all.first(to_size(match.place - 1))));
    ASSERT_GE(at(ids, match.place - 1), 0);
  }
}

/// A long match, and `count` later ones of two tokens.
Match match_before(std::int64_t count) {
  Ids ids = {5, 6, 1, 2, 9};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto other = static_cast<std::int32_t>(1000 + i);
    ids.insert(ids.end(), {other, 1, 2, 3});
  }
  return history_of(ids, 2048).find(Ids{5, 6, 1, 2});
}

TEST(TokenHistory, ASearchEndsAfterItsLimitOfPlaces) {
  EXPECT_EQ(match_before(kPlacesMax - 1), (Match{.length = 4, .place = 5}));
  EXPECT_EQ(match_before(kPlacesMax).length, 2);
}

TEST(TokenHistory, OverwrittenTokensMatchNothing) {
  TokenHistory history = history_of({1, 2, 3, 4}, 8);
  const Match match = history.find(Ids{1, 2});
  EXPECT_EQ(match.place, 3);
  history.add(Ids{5, 6, 7, 8, 9});
  EXPECT_EQ(history.find(Ids{1, 2}), Match{}) << "1 is overwritten";
  EXPECT_EQ(continuation(history, match.place, 2), (Ids{3, 4})) << "its continuation is not";
  EXPECT_EQ(history.find(Ids{1, 2, 3}), (Match{.length = 2, .place = 4}));
  history.add(Ids{10});
  EXPECT_EQ(continuation(history, match.place, 2), (Ids{3, 4}));
  history.add(Ids{11});
  EXPECT_EQ(continuation(history, match.place, 2), Ids{});
  EXPECT_EQ(continuation(history, match.place + 1, 2), (Ids{4, 5}));
}

TEST(TokenHistory, OtherPlacesHaveNoContinuation) {
  const TokenHistory history = history_of({1, 2, 3});
  for (const std::int64_t place : {-1, 0, 4, 5}) {
    EXPECT_EQ(continuation(history, place, 2), Ids{}) << place;
  }
  EXPECT_EQ(continuation(history, 1, 0), Ids{});
  EXPECT_EQ(continuation(TokenHistory(0), 0, 2), Ids{});
}

TEST(TokenHistory, HoldsAtLeastTheTokensThatItIsMadeFor) {
  Ids ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  for (const std::int64_t tokens : {0, 1, 3, 4, 5, 63, 64, 65, 100}) {
    const TokenHistory history = history_of(ids, tokens);
    const std::int64_t oldest = 101 - tokens;
    EXPECT_EQ(std::ssize(continuation(history, oldest, tokens)), tokens) << tokens;
  }
}

TEST(TokenHistory, AClearedHistoryHasNothingOfBefore) {
  TokenHistory history = history_of({1, 2, 3, 4, 5}, 8);
  const Match before = history.find(Ids{1, 2});
  history.clear();
  EXPECT_EQ(history.find(Ids{1, 2}), Match{});
  EXPECT_EQ(continuation(history, before.place, 2), Ids{});
  history.add(Ids{5, 1, 2, 6});
  EXPECT_EQ(history.find(Ids{4, 5}), Match{}) << "a pair across the two texts";
  EXPECT_EQ(history.find(Ids{4, 5, 1, 2}).length, 3);
  EXPECT_EQ(continuation(history, before.place, 2), Ids{});
}

/// Equal tokens are one long chain. Without the limit of places, the second search of each step
/// would compare all of it, and this test would not end.
TEST(TokenHistory, AMillionEqualTokensAreOneChain) {
  const std::int64_t count = 1'000'000;
  const std::int64_t step = 16;
  TokenHistory history(count);
  const Ids equal(to_size(kMatchMax), 7);
  for (std::int64_t added = step; added < count; added += step) {
    history.add(std::span(equal).first(to_size(step)));
    const std::int64_t length = std::min(added - 1, kMatchMax);
    ASSERT_EQ(history.find(equal), (Match{.length = length, .place = added}));
    ASSERT_EQ(history.find(Ids{8, 7, 7}), (Match{.length = 2, .place = added}));
  }
  EXPECT_EQ(draft(history, equal, 3), (Ids{7, 7, 7}));
}

}  // namespace
}  // namespace ingot
