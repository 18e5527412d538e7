// Tests of sets of code points: CodePoints.
#include "constraint/language/code_points.h"

#include <gtest/gtest.h>

#include <random>

namespace ingot {
namespace {

using Ranges = std::vector<CodePointRange>;

TEST(CodePoints, JoinsRangesAndDropsSurrogates) {
  EXPECT_EQ(CodePoints({{'c', 'd'}, {'a', 'b'}}).ranges(), (Ranges{{'a', 'd'}}));
  EXPECT_EQ(CodePoints({{0xD000, 0xE001}}).ranges(), (Ranges{{0xD000, 0xD7FF}, {0xE000, 0xE001}}));
  EXPECT_TRUE(CodePoints({{0xD800, 0xDFFF}}).is_empty());
  EXPECT_EQ(CodePoints({{0x10FF00, 0xFFFFFF}}).ranges(), (Ranges{{0x10FF00, 0x10FFFF}}));
  EXPECT_TRUE(CodePoints::all().complement().is_empty());
  EXPECT_EQ(CodePoints().complement().ranges(), CodePoints::all().ranges());
}

/// Makes up to four random ranges below 64.
CodePoints random_set(std::mt19937& random) {
  Ranges ranges;
  for (std::uint64_t i = random() % 5; i > 0; --i) {
    const auto first = static_cast<char32_t>(random() % 64);
    ranges.push_back({first, static_cast<char32_t>(first + random() % 8)});
  }
  return CodePoints(ranges);
}

TEST(CodePoints, SetOperationsAgreeWithMembership) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const CodePoints a = random_set(random);
    const CodePoints b = random_set(random);
    for (char32_t c = 0; c < 80; ++c) {
      EXPECT_EQ(a.united(b).contains(c), a.contains(c) || b.contains(c));
      EXPECT_EQ(a.intersected(b).contains(c), a.contains(c) && b.contains(c));
      EXPECT_EQ(a.complement().contains(c), !a.contains(c));
    }
  }
}

}  // namespace
}  // namespace ingot
