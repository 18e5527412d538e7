// Cutting texts at entries, against plain searching, and how much work it is.
#include "text/tokenizer/piece_trie.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "quant/test_data.h"

namespace ingot::testing {
namespace {

using Cuts = std::vector<std::pair<std::size_t, std::int32_t>>;  // place and id

std::string random_text(Random& random, std::size_t size_max, std::string_view letters) {
  std::string text(random.next() % (size_max + 1), ' ');
  for (char& c : text) c = letters[random.next() % letters.size()];
  return text;
}

PieceTrie trie_of(const std::vector<std::string>& texts) {
  std::vector<TrieEntry> entries;
  for (const std::string& text : texts)
    entries.push_back({text, static_cast<std::int32_t>(entries.size())});
  return PieceTrie(std::move(entries));
}

Cuts cuts_of(PieceFinder& finder, std::string_view text) {
  Cuts cuts;
  for (std::size_t at = 0; at < text.size();) {
    PieceTrie::Match match;
    const std::size_t found = finder.find(at, match);
    EXPECT_EQ(match.id < 0, found == text.size());
    if (match.id >= 0) cuts.emplace_back(found, match.id);
    at = found + match.size;
  }
  return cuts;
}

Cuts cuts_by_searching(const std::vector<std::string>& texts, std::string_view text) {
  Cuts cuts;
  for (std::size_t at = 0; at < text.size();) {
    PieceTrie::Match longest{-1, 0};
    for (std::size_t id = 0; id < texts.size(); ++id) {
      if (texts[id].size() > longest.size && text.substr(at).starts_with(texts[id])) {
        longest = {static_cast<std::int32_t>(id), texts[id].size()};
      }
    }
    if (longest.id >= 0) cuts.emplace_back(at, longest.id);
    at += std::max<std::size_t>(longest.size, 1);
  }
  return cuts;
}

void expect_same_cuts(const std::vector<std::string>& texts, std::string_view text) {
  const PieceTrie trie = trie_of(texts);
  PieceFinder finder(trie, text);
  ASSERT_EQ(cuts_of(finder, text), cuts_by_searching(texts, text));
}

TEST(PieceTrie, CutsAsSearchingDoes) {
  Random random(6);
  for (int run = 0; run < 2'000; ++run) {
    const std::string_view letters = run % 2 == 0 ? "ab" : std::string_view("ab\xFF\0", 4);
    std::vector<std::string> texts;
    for (std::uint64_t n = random.next() % 20; n > 0; --n)
      texts.push_back(random_text(random, 6, letters));
    expect_same_cuts(texts, random_text(random, 60, letters));
  }
}

TEST(PieceTrie, CutsLongTextsAsSearchingDoes) {
  Random random(7);
  for (int run = 0; run < 30; ++run) {
    // Mostly one letter, so that entries of any size occur and reach over what is scanned at once.
    const std::string_view letters = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    const std::string text = random_text(random, 30'000, letters) + std::string(9'000, 'a');
    std::vector<std::string> texts;
    for (int n = 0; n < 6; ++n) {
      const std::size_t begin = random.next() % text.size();
      const std::size_t sizes[] = {1, 5, 50, 500, 5'000, 9'000};
      texts.push_back(text.substr(begin, 1 + random.next() % sizes[n]));
    }
    expect_same_cuts(texts, text);
    texts.erase(texts.begin());
    expect_same_cuts(texts, text);
  }
}

TEST(PieceTrie, FindsTheFirstPlace) {
  const PieceTrie trie({{"<|im_end|>", 7}, {"<|im", 8}, {"", 9}, {"<|im", 3}});
  const std::string_view text = "a <|im_end|> <|im";
  PieceFinder finder(trie, text);
  PieceTrie::Match match;
  EXPECT_EQ(finder.find(0, match), 2u);
  EXPECT_EQ(match.id, 7);
  EXPECT_EQ(match.size, 10u);
  EXPECT_EQ(finder.find(3, match), 13u);
  EXPECT_EQ(match.id, 3);
  EXPECT_EQ(finder.find(14, match), text.size());
  EXPECT_EQ(match.id, -1);
  EXPECT_EQ(finder.find(2, match), 2u);  // going back is allowed
  EXPECT_EQ(match.id, 7);
  EXPECT_TRUE(PieceTrie({{"", 1}}).empty());
  const PieceTrie none;
  EXPECT_EQ(PieceFinder(none, text).find(0, match), text.size());
}

// Entries that match for long and then fail, alone and beside short ones that do match.
TEST(PieceTrie, WorkIsLinearInTheText) {
  const std::size_t k = 60'000;
  const std::string run(k, 'a');
  const std::vector<std::vector<std::string>> hostile = {
      {run + "b"},
      {"b" + run},
      {run + "b", "a"},
      {"b" + run, "a"},
      {run + "b" + run},
      {run + "b", "a", "aa", std::string(k / 2, 'a')},
      {run},
      {"ab", "ba", "bb"},
      {std::string(k / 2, 'a') + "b" + run, "a"}};
  for (const std::vector<std::string>& texts : hostile) {
    const PieceTrie trie = trie_of(texts);
    for (const std::size_t n : {2 * k, 4 * k}) {
      for (const bool with_b : {false, true}) {
        std::string text(n, 'a');
        for (std::size_t at = k / 2; with_b && at < n; at += k - 1) text[at] = 'b';
        PieceFinder finder(trie, text);
        cuts_of(finder, text);
        // Every byte is read at most twice, and costs two steps on average.
        EXPECT_LE(finder.steps(), 4 * n + 2 * k) << n << ", first entry " << texts[0].substr(k - 1);
        EXPECT_GE(finder.steps(), n);
      }
    }
  }
}

}  // namespace
}  // namespace ingot::testing
