// Prefixes found by the trie against those found by comparing.
#include "text/tokenizer/prefix_trie.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "quant/test_data.h"

namespace ingot::testing {
namespace {

using Prefixes = std::vector<std::pair<std::size_t, std::int32_t>>;

Prefixes prefixes(const PrefixTrie& trie, std::string_view text) {
  Prefixes found;
  trie.prefixes(text, [&](std::size_t size, std::int32_t id) { found.emplace_back(size, id); });
  return found;
}

Prefixes compared(const std::map<std::string, std::int32_t>& entries, std::string_view text) {
  Prefixes found;
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const auto entry = entries.find(std::string(text.substr(0, size)));
    if (entry != entries.end()) found.emplace_back(size, entry->second);
  }
  return found;
}

TEST(PrefixTrie, KnownEntries) {
  EXPECT_TRUE(PrefixTrie().empty());
  EXPECT_EQ(prefixes(PrefixTrie(), "a"), Prefixes{});
  EXPECT_TRUE(PrefixTrie({{"", 3}}).empty());
  const PrefixTrie trie({{"ab", 1}, {"a", 2}, {"abcd", 3}, {"b", 4}, {"a", 0}});
  EXPECT_EQ(prefixes(trie, "abcde"), (Prefixes{{1, 0}, {2, 1}, {4, 3}}));
  EXPECT_EQ(prefixes(trie, "abc"), (Prefixes{{1, 0}, {2, 1}}));
  EXPECT_EQ(prefixes(trie, ""), Prefixes{});
  EXPECT_EQ(prefixes(trie, "c"), Prefixes{});
}

TEST(PrefixTrie, EveryByteAtOneNode) {
  std::vector<std::string> texts;
  for (int b = 0; b < 256; ++b) texts.push_back(std::string("x") + static_cast<char>(b));
  for (const std::size_t count : {1U, 8U, 9U, 63U, 65U, 256U}) {
    std::vector<TrieEntry> entries;
    for (std::size_t i = 0; i < count; ++i) {
      entries.push_back({texts[i], static_cast<std::int32_t>(i)});
    }
    const PrefixTrie trie(std::move(entries));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Prefixes wanted = i < count ? Prefixes{{2, static_cast<std::int32_t>(i)}} : Prefixes{};
      EXPECT_EQ(prefixes(trie, texts[i]), wanted) << count << " " << i;
    }
  }
}

TEST(PrefixTrie, EqualsComparingOnRandomEntries) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t letters = 1 + random.next() % 12;
    const auto word = [&] {
      std::string text(random.next() % 9, ' ');
      for (char& c : text) c = static_cast<char>(0xF8 + random.next() % letters);
      return text;
    };
    std::map<std::string, std::int32_t> map;
    for (std::int32_t id = 0; id < 40; ++id) map.try_emplace(word(), id);
    map.erase("");
    std::vector<TrieEntry> entries;
    for (const auto& [text, id] : map) entries.push_back({text, id});
    const PrefixTrie trie(std::move(entries));
    for (int i = 0; i < 50; ++i) {
      const std::string text = word() + word();
      ASSERT_EQ(prefixes(trie, text), compared(map, text));
    }
  }
}

}  // namespace
}  // namespace ingot::testing
