// Tests of TextDfa: each operation against membership in brute-force enumerations.
#include "constraint/language/text_dfa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "base/index.h"

namespace ingot {
namespace {

constexpr std::int32_t kDead = TextDfa::kDead;

/// Returns all texts of at most `length` letters a, b, c.
std::vector<std::string> short_texts(std::size_t length) {
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() == length) break;
    for (const char c : {'a', 'b', 'c'}) texts.push_back(texts[i] + c);
  }
  return texts;
}

/// Makes a random automaton with up to six states over a, b, c.
TextDfa random_language(std::mt19937& random) {
  CompileBudget budget;
  const std::uint64_t size = 1 + random() % 6;
  std::vector<TextDfa::State> states(size);
  for (TextDfa::State& state : states) {
    state.accepts = random() % 3 == 0;
    for (const char32_t c : {U'a', U'b', U'c'}) {
      if (random() % 4 == 0) continue;
      state.arcs.push_back({{c, c}, static_cast<std::int32_t>(random() % size)});
    }
  }
  return TextDfa(states, budget);
}

void expect_same(const TextDfa& dfa, const std::function<bool(const std::string&)>& expected,
                 const std::string& what) {
  for (const std::string& text : short_texts(6)) {
    ASSERT_EQ(dfa.contains(text), expected(text)) << what << ": " << text;
  }
}

TEST(TextDfa, SetOperationsAgreeWithMembership) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    CompileBudget budget;
    const TextDfa a = random_language(random);
    const TextDfa b = random_language(random);
    expect_same(
        a.intersected(b, budget),
        [&](const std::string& text) { return a.contains(text) && b.contains(text); },
        "intersection");
    expect_same(
        a.united(b, budget),
        [&](const std::string& text) { return a.contains(text) || b.contains(text); }, "union");
    expect_same(
        a.without_texts_of(b, budget),
        [&](const std::string& text) { return a.contains(text) && !b.contains(text); },
        "difference");
    expect_same(
        a.complement(budget), [&](const std::string& text) { return !a.contains(text); },
        "complement");
    expect_same(
        a.with_length(2, 4, budget),
        [&](const std::string& text) {
          return a.contains(text) && text.size() >= 2 && text.size() <= 4;
        },
        "length");
    expect_same(
        a.with_length(3, TextDfa::kInfinite, budget),
        [&](const std::string& text) { return a.contains(text) && text.size() >= 3; },
        "least length");
    expect_same(
        a.followed_by(b, budget),
        [&](const std::string& text) {
          for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            if (a.contains(text.substr(0, cut)) && b.contains(text.substr(cut))) return true;
          }
          return false;
        },
        "concatenation");
    expect_same(
        a.complement(budget).complement(budget),
        [&](const std::string& text) { return a.contains(text); }, "twice the complement");
  }
}

TEST(TextDfa, IsMinimalAndLive) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const TextDfa a = random_language(random);
    if (a.is_empty()) continue;
    std::vector<std::vector<bool>> rows;  // which short texts each state accepts
    for (std::int32_t state = 0; state < a.size(); ++state) {
      ASSERT_NE(a.shortest(state), TextDfa::kInfinite);
      std::vector<bool> row;
      for (const std::string& text : short_texts(6)) {
        std::int32_t reached = state;
        for (const char c : text) {
          if (reached != kDead) reached = a.step(reached, static_cast<char32_t>(c));
        }
        row.push_back(reached != kDead && a.accepts(reached));
      }
      for (const auto& other : rows) EXPECT_NE(row, other);
      rows.push_back(row);
    }
  }
}

TEST(TextDfa, MeasuresRests) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    CompileBudget budget;
    const TextDfa a = random_language(random).with_length(0, 6, budget);
    if (a.is_empty()) continue;
    std::vector<std::size_t> lengths;
    for (const std::string& text : short_texts(6)) {
      if (a.contains(text)) lengths.push_back(text.size());
    }
    EXPECT_EQ(a.count(0), lengths.size());
    EXPECT_EQ(a.shortest(0), *std::min_element(lengths.begin(), lengths.end()));
    EXPECT_EQ(a.longest(0), *std::max_element(lengths.begin(), lengths.end()));
  }
}

/// Each state has a row in the table of ASCII characters, so a long text costs memory.
TEST(TextDfa, CountsTheMemoryOfItsTables) {
  CompileBudget budget;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += static_cast<char>('!' + i % 90);
  const std::size_t table = text.size() * 90 * sizeof(std::int32_t);
  const TextDfa language = TextDfa::literal(text, budget);
  EXPECT_GT(language.bytes(), table);
  EXPECT_LT(language.bytes(), 2 * table);
}

/// Returns whether the lengths that a state accepts, up to `limit`, have no gap; by enumeration.
bool has_gap(const TextDfa& dfa, std::int32_t state, std::size_t limit) {
  std::vector<char> now(to_size(dfa.size()));
  at(now, state) = 1;
  std::vector<std::size_t> lengths;
  for (std::size_t length = 0; length <= limit; ++length) {
    std::vector<char> next(now.size());
    bool accepts = false;
    for (std::int32_t s = 0; s < dfa.size(); ++s) {
      if (!at(now, s)) continue;
      accepts = accepts || dfa.accepts(s);
      for (const TextDfa::Arc& arc : dfa.arcs(s)) at(next, arc.to) = 1;
    }
    if (accepts) lengths.push_back(length);
    now = next;
  }
  const bool ends = dfa.longest(state) != TextDfa::kInfinite;
  const std::size_t last = ends ? dfa.longest(state) : limit;
  return lengths.size() != last - lengths.front() + 1;
}

TEST(TextDfa, FindsGapsOfLengths) {
  std::mt19937 random(5);
  int gapless = 0;
  for (int round = 0; round < 300; ++round) {
    const TextDfa a = random_language(random);
    if (a.is_empty()) continue;
    bool gap = false;
    for (std::int32_t state = 0; state < a.size(); ++state) gap = gap || has_gap(a, state, 80);
    EXPECT_EQ(a.is_gapless(), !gap);
    gapless += a.is_gapless() ? 1 : 0;
  }
  EXPECT_GT(gapless, 20);
}

TEST(TextDfa, ListsTexts) {
  CompileBudget budget;
  const std::vector<std::string> texts{"abc", "ab", "", "ä€😀", "ab", "b"};
  const TextDfa dfa = TextDfa::any_of(texts, budget);
  EXPECT_EQ(dfa.count(0), 5U);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(dfa.contains(texts[i]));
  }
  const auto tag_of = [&](std::u32string_view text) {
    std::int32_t state = TextDfa::start();
    for (const char32_t c : text) state = dfa.step(state, c);
    return dfa.tag(state);
  };
  EXPECT_EQ(tag_of(U"abc"), 0);
  EXPECT_EQ(tag_of(U"ab"), 1);  // the first of two
  EXPECT_EQ(tag_of(U"ä€😀"), 3);
  EXPECT_FALSE(dfa.contains("a"));
  EXPECT_TRUE(TextDfa::any_of({}, budget).is_empty());
  EXPECT_TRUE(TextDfa::literal("", budget).contains(""));
}

TEST(TextDfa, ListsTextsWithoutTable) {
  std::mt19937 random(9);
  std::vector<std::string> texts;
  for (int i = 0; i < 2'000; ++i) {
    texts.emplace_back();
    for (int k = 0; k < 16; ++k) texts.back() += static_cast<char>('!' + random() % 90);
  }
  CompileBudget budget;
  const TextDfa dfa = TextDfa::any_of(texts, budget);
  EXPECT_GT(dfa.size() * 90, 1'000'000);  // so that steps search arcs
  EXPECT_EQ(dfa.count(TextDfa::start()), 2'000U);
  for (std::string& text : texts) {
    EXPECT_TRUE(dfa.contains(text));
    text[7] = '~';
    EXPECT_FALSE(dfa.contains(text));
  }
}

TEST(TextDfa, FindsMarkers) {
  std::mt19937 random(6);
  const std::vector<std::string> texts = short_texts(3);
  for (int round = 0; round < 100; ++round) {
    CompileBudget budget;
    std::vector<std::string> markers;
    for (std::uint64_t i = 1 + random() % 3; i > 0; --i) {
      markers.push_back(texts[1 + random() % (texts.size() - 1)]);
    }
    const auto has_marker = [&](const std::string& text) {
      return std::any_of(markers.begin(), markers.end(), [&](const std::string& marker) {
        return text.find(marker) != std::string::npos;
      });
    };
    const TextDfa without = TextDfa::without(markers, budget);
    expect_same(
        without, [&](const std::string& text) { return !has_marker(text); }, "without");
    EXPECT_TRUE(without.is_empty() || without.contains("😀") || !without.contains(""));
    const std::string& marker = markers[0];
    expect_same(
        TextDfa::until(marker, budget),
        [&](const std::string& text) {
          return text.find(marker) != std::string::npos &&
                 text.find(marker) == text.size() - marker.size();
        },
        "until");
  }
}

TEST(TextDfa, TagsByMembership) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    CompileBudget budget;
    const std::vector<TextDfa> languages{random_language(random), random_language(random),
                                         random_language(random)};
    const bool keep_rest = round % 2 == 0;
    std::vector<std::vector<std::int32_t>> sets;
    const TextDfa all = TextDfa::tagged_by_membership(languages, keep_rest, sets, budget);
    for (const std::string& text : short_texts(5)) {
      std::vector<std::int32_t> expected;
      for (std::int32_t i = 0; i < 3; ++i) {
        if (at(languages, i).contains(text)) expected.push_back(i);
      }
      ASSERT_EQ(all.contains(text), keep_rest || !expected.empty());
      if (!all.contains(text)) continue;
      std::int32_t state = TextDfa::start();
      for (const char c : text) state = all.step(state, static_cast<char32_t>(c));
      EXPECT_EQ(at(sets, all.tag(state)), expected);
    }
    EXPECT_EQ(all.contains("😀"), keep_rest);
  }
}

TEST(TextDfa, TreatsSurrogatesAsNoText) {
  CompileBudget budget;
  const TextDfa one = TextDfa::all(budget).with_length(1, 1, budget);
  EXPECT_EQ(one.count(0), 0x110000U - 0x800U);
  EXPECT_EQ(one.step(0, 0xD800), kDead);
  EXPECT_FALSE(one.has_step(0, 0xD800, 0xDFFF));
  EXPECT_TRUE(one.has_step(0, 0xD800, 0xE000));
  EXPECT_TRUE(one.contains("😀"));
  EXPECT_TRUE(one.contains("\x7F"));
  EXPECT_FALSE(one.contains("\xFF"));
}

TEST(TextDfa, RefusesWhatIsTooLarge) {
  CompileBudget budget(1000);
  EXPECT_THROW((void)TextDfa::literal(std::string(5000, 'a'), budget), Error);
  CompileBudget enough;
  EXPECT_THROW((void)TextDfa::literal(std::string(90'000, 'a'), enough), Error);
  EXPECT_THROW((void)TextDfa::all(enough).with_length(0, std::uint64_t{1} << 40, enough), Error);
  const TextDfa large = TextDfa::literal(std::string(15'000, 'a'), enough);
  EXPECT_EQ(large.size(), 15'001);
  EXPECT_TRUE(large.contains(std::string(15'000, 'a')));
  EXPECT_FALSE(large.contains(std::string(14'999, 'a') + "b"));
}

}  // namespace
}  // namespace ingot
