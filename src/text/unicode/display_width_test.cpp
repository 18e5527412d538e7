// Widths of narrow, wide and combining characters.
#include "text/unicode/display_width.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(DisplayWidth, KnowsWideAndCombiningCharacters) {
  EXPECT_EQ(display_width(U'a'), 1);
  EXPECT_EQ(display_width(U'\u00e9'), 1);
  EXPECT_EQ(display_width(U'\u0301'), 0);
  EXPECT_EQ(display_width(U'\u6f22'), 2);
  EXPECT_EQ(display_width(U'\U0001F600'), 2);
  EXPECT_EQ(display_width(U'\n'), 0);
  EXPECT_EQ(display_width(char32_t{0xFFFD}), 1);
  EXPECT_EQ(display_width("e\u0301\u6f22\xff"), 4);
}

TEST(DisplayWidth, CutsBetweenCharacters) {
  EXPECT_EQ(fit_columns("abc", 2), "ab");
  EXPECT_EQ(fit_columns("abc", 3), "abc");
  EXPECT_EQ(fit_columns("a\u6f22", 2), "a");
  EXPECT_EQ(fit_columns("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(fit_columns("x", 0), "");
}

}  // namespace
}  // namespace ingot
