// Added tokens (T07): rules by hand, and against the reference's algorithm written plainly.
#include "text/pretokenize/added_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "quant/test_data.h"
#include "text/unicode/char_scan.h"

namespace ingot::testing {
namespace {

struct Found {
  std::int32_t id;
  std::size_t begin, end;
  bool operator==(const Found&) const = default;
};

void PrintTo(const Found& f, std::ostream* out) {
  *out << f.id << " [" << f.begin << ", " << f.end << ")";
}

std::vector<Found> find_all(const std::vector<AddedToken>& tokens, std::string_view text) {
  const AddedTokens set(tokens);
  AddedTokenFinder finder(set, text);
  std::vector<Found> found;
  for (auto m = finder.next(); m.id >= 0; m = finder.next())
    found.push_back({m.id, m.begin, m.end});
  return found;
}

TEST(AddedTokens, LeftmostAndLongest) {
  const std::vector<AddedToken> tokens = {
      {.content = "<a>", .id = 1}, {.content = "<a><b>", .id = 2}, {.content = "a>", .id = 3}};
  EXPECT_EQ(find_all(tokens, "x<a>y"), (std::vector<Found>{{1, 1, 4}}));
  EXPECT_EQ(find_all(tokens, "<a><b><a>"), (std::vector<Found>{{2, 0, 6}, {1, 6, 9}}));
  EXPECT_EQ(find_all(tokens, "<a<a><"), (std::vector<Found>{{1, 2, 5}}));
  EXPECT_EQ(find_all(tokens, ""), std::vector<Found>{});
  EXPECT_EQ(find_all({}, "<a>"), std::vector<Found>{});
  EXPECT_EQ(find_all({{.content = "", .id = 4}}, "ab"), std::vector<Found>{});
  EXPECT_EQ(find_all({{.content = "a", .id = 5}, {.content = "a", .id = 4}}, "a"),
            (std::vector<Found>{{4, 0, 1}}));
}

TEST(AddedTokens, TakeWhiteSpaceAlong) {
  const AddedToken left = {.content = "<m>", .id = 1, .lstrip = true};
  const AddedToken right = {.content = "<m>", .id = 1, .rstrip = true};
  EXPECT_EQ(find_all({left}, "a \t<m> b"), (std::vector<Found>{{1, 1, 6}}));
  EXPECT_EQ(find_all({right}, "a <m> \u3000\nb"), (std::vector<Found>{{1, 2, 10}}));
  // The space between belongs to the first that takes it.
  const AddedToken both = {.content = "<m>", .id = 1, .lstrip = true, .rstrip = true};
  EXPECT_EQ(find_all({both}, " <m>  <m> "), (std::vector<Found>{{1, 0, 6}, {1, 6, 10}}));
  EXPECT_EQ(find_all({left}, "\x80 <m>"), (std::vector<Found>{{1, 1, 5}}));
}

TEST(AddedTokens, SingleWordsStandAlone) {
  const std::vector<AddedToken> tokens = {{.content = "cat", .id = 1, .single_word = true},
                                          {.content = "at", .id = 2}};
  EXPECT_EQ(find_all(tokens, "cat, cats"), (std::vector<Found>{{1, 0, 3}}));
  // The word that is not taken hides what overlaps it.
  EXPECT_EQ(find_all(tokens, "concat at"), (std::vector<Found>{{2, 7, 9}}));
  EXPECT_EQ(find_all(tokens, "\u00E9cat cat\u0301 _cat -cat-"), (std::vector<Found>{{1, 18, 21}}));
}

TEST(AddedTokens, SearchWithinParts) {
  const std::vector<AddedToken> tokens = {{.content = "<a>", .id = 1, .lstrip = true},
                                          {.content = "<a>b", .id = 2}};
  const AddedTokens set(tokens);
  const std::string text = "x <a>b<a>";
  AddedTokenFinder finder(set, text);
  finder.search_within(2, 5);
  const auto first = finder.next();
  EXPECT_EQ(first.id, 1);  // what is behind the part makes no longer token
  EXPECT_EQ(first.begin, 1U);
  EXPECT_EQ(first.end, 5U);
  EXPECT_EQ(finder.next().id, -1);
  finder.search_within(7, 9);
  EXPECT_EQ(finder.next().id, -1);
  finder.search_within(6, 9);
  EXPECT_EQ(finder.next().begin, 6U);
}

/// added_vocabulary.rs, find_matches, as plainly as possible.
std::vector<Found> plain_find(const std::vector<AddedToken>& tokens, const std::string& text) {
  std::vector<Found> found;
  std::size_t last_end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* best = nullptr;
    for (const AddedToken& token : tokens) {
      const bool here = text.compare(at, token.content.size(), token.content) == 0;
      if (here && (best == nullptr || token.content.size() > best->content.size())) best = &token;
    }
    if (best == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + best->content.size();
    at = end;
    if (best->single_word && (char_before(text, begin).is(kWord) || char_at(text, end).is(kWord))) {
      continue;
    }
    if (best->rstrip) end = class_end(text, end, kSpace);
    if (best->lstrip) {
      while (char_before(text, begin).is(kSpace)) begin -= char_before(text, begin).size;
      begin = std::min(std::max(begin, last_end), end);
    }
    found.push_back({best->id, begin, end});
    last_end = end;
  }
  return found;
}

TEST(AddedTokens, EqualsThePlainAlgorithmOnRandomSets) {
  const std::u32string alphabet = U"ab <\u3000\u00E9\t";
  Random random(33);
  const auto text = [&](std::size_t most) {
    std::string s;
    for (std::uint64_t n = 1 + random.next() % most; n > 0; --n) {
      append_utf8(s, alphabet[random.next() % alphabet.size()]);
    }
    return s;
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<AddedToken> tokens;
    for (std::int32_t id = 0; id < 5; ++id) {
      const std::uint64_t rules = random.next();
      tokens.push_back({.content = text(3),
                        .id = id,
                        .single_word = rules % 4 == 0,
                        .lstrip = rules / 4 % 2 == 0,
                        .rstrip = rules / 8 % 2 == 0});
    }
    for (int i = 0; i < 20; ++i) {
      const std::string s = text(16);
      ASSERT_EQ(find_all(tokens, s), plain_find(tokens, s)) << s;
    }
  }
}

TEST(AddedTokens, LongRunsOfSpacesArePassedOnce) {
  // Passed once for each token they would take hours.
  const std::vector<AddedToken> tokens = {
      {.content = "\t", .id = 1, .lstrip = true, .rstrip = true}};
  EXPECT_EQ(find_all(tokens, std::string(1'000'000, '\t')).size(), 1'000'000U);
}

}  // namespace
}  // namespace ingot::testing
