// Merging with a heap against merging by looking for the best pair every time.
#include "text/tokenizer/symbol_merger.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "quant/test_data.h"

namespace ingot::testing {
namespace {

/// A made-up rule: what a symbol of these letters ranks, from a hash; about half of all strings are
/// pieces.
std::uint32_t rank_of(std::string_view symbol, std::uint64_t seed, std::uint32_t ranks) {
  if (ranks == 0)
    return symbol.size() > 12 ? SymbolMerger::kNever : static_cast<std::uint32_t>(symbol.size());
  std::uint64_t hash = seed;
  for (const char c : symbol) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  hash ^= hash >> 29;
  if (symbol.size() > 12 || hash % 2 == 0) return SymbolMerger::kNever;
  return static_cast<std::uint32_t>((hash >> 8) % ranks);
}

std::vector<std::string> merge_plainly(std::vector<std::string> symbols, std::uint64_t seed,
                                       std::uint32_t ranks) {
  while (true) {
    std::uint32_t best = SymbolMerger::kNever;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const std::uint32_t rank = rank_of(symbols[i] + symbols[i + 1], seed, ranks);
      if (rank < best) {
        best = rank;
        at = i;
      }
    }
    if (best == SymbolMerger::kNever) return symbols;
    symbols[at] += symbols[at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(SymbolMerger, EqualsThePlainWay) {
  Random random(11);
  SymbolMerger merger;
  for (int run = 0; run < 3'000; ++run) {
    const std::uint64_t seed = random.next();
    // Few ranks make many ties, many ranks make none, the length makes the most candidates.
    const std::uint32_t ranks =
        std::array<std::uint32_t, 3>{4, 1'000'000, 0}[static_cast<std::size_t>(run) % 3];
    std::string text;
    std::vector<std::string> symbols;
    const std::uint64_t count = random.next() % 200;
    for (std::uint64_t i = 0; i < count; ++i) {
      symbols.emplace_back(1 + random.next() % 3, static_cast<char>('a' + random.next() % 3));
      text += symbols.back();
    }
    merger.reset(text.size());
    std::size_t at = 0;
    for (const std::string& s : symbols) {
      merger.mark(at);
      at += s.size();
    }
    std::size_t merges = 0;
    merger.run(
        [&](std::size_t left, std::size_t right, std::size_t end) {
          EXPECT_TRUE(left < right && right < end && end <= text.size());
          return rank_of(std::string_view(text).substr(left, end - left), seed, ranks);
        },
        [&](std::size_t, std::uint32_t) { ++merges; });
    std::vector<std::string> got;
    for (std::size_t i = 0; i < text.size(); i = merger.end_of(i))
      got.push_back(text.substr(i, merger.end_of(i) - i));
    ASSERT_EQ(got, merge_plainly(symbols, seed, ranks));
    ASSERT_EQ(merges, symbols.size() - got.size());
  }
}

TEST(SymbolMerger, StepsGrowWithTheLogarithm) {
  // Everything merges with everything up to 64 letters: the most entries that a row can cause.
  for (const std::size_t size :
       {std::size_t{1} << 10, std::size_t{1} << 14, std::size_t{1} << 18}) {
    SymbolMerger merger;
    merger.reset(size);
    for (std::size_t i = 0; i < size; ++i) merger.mark(i);
    std::size_t ranked = 0;
    merger.run(
        [&](std::size_t left, std::size_t, std::size_t end) {
          ++ranked;
          return end - left > 64 ? SymbolMerger::kNever : static_cast<std::uint32_t>(end * 7 % 5);
        },
        [](std::size_t, std::uint32_t) {});
    EXPECT_LE(ranked, 12 * size);
  }
}

}  // namespace
}  // namespace ingot::testing
