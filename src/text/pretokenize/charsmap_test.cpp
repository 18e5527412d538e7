// Precompiled maps: one made here unit by unit, hostile bytes, and that of T5 against NFKC.
#include "text/pretokenize/charsmap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "quant/test_data.h"
#include "text/unicode/normalize.h"

namespace ingot::testing {
namespace {

/// A double array in darts-clone's form, every node in a block of 256 units of its own.
class MapMaker {
 public:
  std::string make(const std::map<std::string, std::string>& entries) {
    units_.assign(256, 0);
    replacements_.clear();
    place(0, "", entries);
    std::string bytes(4, '\0');
    const auto size = static_cast<std::uint32_t>(units_.size() * 4);
    std::memcpy(bytes.data(), &size, 4);
    bytes.append(reinterpret_cast<const char*>(units_.data()), size);
    return bytes + replacements_;
  }

 private:
  /// Gives the node at `at`, whose string is `prefix`, its children. The offset leads to a block
  /// whose number is xored in, so the node's own place in its block goes along.
  void place(std::size_t at, const std::string& prefix,
             const std::map<std::string, std::string>& entries) {
    std::map<std::string, std::string> below;
    for (const auto& [key, value] : entries) {
      if (key.size() > prefix.size() && key.starts_with(prefix)) below.emplace(key, value);
    }
    const bool leaf = entries.contains(prefix);
    // Children lie at base ^ byte, the leaf at base: the block after all others.
    const std::size_t base = units_.size();
    units_.resize(base + 256, 0xFFFF'FF00U | 0xFFU << 31);
    const auto offset = static_cast<std::uint32_t>(at ^ base);
    units_[at] = (units_[at] & 0xFF) | offset << 10 | (leaf ? 1U << 8 : 0U);
    if (leaf) {
      units_[base] = 1U << 31 | static_cast<std::uint32_t>(replacements_.size());
      replacements_ += entries.at(prefix) + '\0';
    }
    for (int byte = 1; byte < 256; ++byte) {
      const std::string child = prefix + static_cast<char>(byte);
      const auto first = below.lower_bound(child);
      if (first == below.end() || !first->first.starts_with(child)) continue;
      units_[base ^ static_cast<std::size_t>(byte)] = static_cast<std::uint32_t>(byte);
      place(base ^ static_cast<std::size_t>(byte), child, entries);
    }
  }

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

std::string normalize(const Charsmap& map, std::string_view text) {
  return map.normalize(text, charsmap_bytes_max(text.size()));
}

TEST(Charsmap, TakesTheLongestKey) {
  const Charsmap map = Charsmap::parse(
      MapMaker().make({{"a", "1"}, {"abc", "23"}, {"\u00E9", "e"}, {"x", ""}}), "test");
  EXPECT_EQ(normalize(map, ""), "");
  EXPECT_EQ(normalize(map, "abcab"), "231b");
  EXPECT_EQ(normalize(map, "\u00E9x\u00E8"), "e\u00E8");
  EXPECT_EQ(normalize(map, "a\xFF\xE4\xB8"), "1\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(normalize(map, std::string("\0a", 2)), std::string("\0", 1) + "1");
}

TEST(Charsmap, AnEmptyMapChangesNothing) {
  EXPECT_TRUE(Charsmap::parse("", "test").empty());
  EXPECT_EQ(normalize(Charsmap(), "a\xFF"), "a\xFF");
}

TEST(Charsmap, GrowthIsBounded) {
  const Charsmap map = Charsmap::parse(MapMaker().make({{"a", std::string(100'000, 'b')}}), "test");
  EXPECT_THROW(normalize(map, "a"), Error);
  EXPECT_EQ(map.normalize("a", 100'000).size(), 100'000U);
}

TEST(Charsmap, EveryCutIsRefusedOrSafe) {
  const std::string bytes = MapMaker().make({{"a", "1"}, {"ab", "2"}});
  for (std::size_t size = 1; size < bytes.size(); size += size < 16 ? 1 : 97) {
    EXPECT_THROW(Charsmap::parse(bytes.substr(0, size), "test"), Error) << size;
  }
  std::string unended = bytes;
  unended.back() = 'x';
  EXPECT_THROW(Charsmap::parse(unended, "test"), Error);
  EXPECT_THROW(Charsmap::parse(std::string(kCharsmapBytesMax + 1, '\0'), "test"), Error);
}

TEST(Charsmap, HostileUnitsReadNothingOutside) {
  const std::string good = MapMaker().make({{"a", "1"}, {"ab", "2"}, {"abc", "3"}});
  Random random(17);
  const std::string text = "abcabcaab\xC3\xA9" + std::string(200, 'a');
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes = good;
    for (int changes = 0; changes < 8; ++changes) {
      bytes[4 + random.next() % (bytes.size() - 5)] = static_cast<char>(random.next());
    }
    const Charsmap map = Charsmap::parse(bytes, "test");
    EXPECT_NO_THROW(map.normalize(text, 1'000'000));
  }
  // A unit that leads to itself at every byte: the walk ends at the longest key that is looked at.
  std::string loop(4, '\0');
  const std::uint32_t size = 256 * 4;
  std::memcpy(loop.data(), &size, 4);
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const std::uint32_t unit = byte | 1U << 8 | byte << 10;
    loop.append(reinterpret_cast<const char*>(&unit), 4);
  }
  loop += "r";
  loop += '\0';
  EXPECT_NO_THROW(Charsmap::parse(loop, "test").normalize(std::string(100'000, 'a'), 1'000'000));
}

}  // namespace
}  // namespace ingot::testing
