// Wrapping at words: the screen of a terminal, and no change of the text.
#include "cli/terminal/word_wrap.h"

#include <gtest/gtest.h>

#include <random>

#include "cli/terminal/screen_test_util.h"

namespace ingot {
namespace {

/// The screen after the text, which comes whole, and by single characters.
std::string screen_of(std::string_view text, std::size_t columns) {
  std::string shown;
  for (const bool is_whole : {true, false}) {
    WordWrap wrap;
    TestScreen screen(columns, 40);
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t size = is_whole ? text.size() : decode_utf8(text.substr(i)).size;
      screen.write_lines(wrap.add(text.substr(i, size), columns));
      i += size;
    }
    if (!is_whole) {
      EXPECT_EQ(screen.text(), shown);
    }
    shown = screen.text();
  }
  return shown;
}

TEST(WordWrap, BreaksBetweenWords) {
  EXPECT_EQ(screen_of("the quick brown fox", 10), "the quick\nbrown fox");
  EXPECT_EQ(screen_of("the quick brown fox", 9), "the quick\nbrown fox");
  EXPECT_EQ(screen_of("the quick brown fox", 40), "the quick brown fox");
  EXPECT_EQ(screen_of("ab cd\nef gh", 4), "ab\ncd\nef\ngh");
  EXPECT_EQ(screen_of("full line\n\nend", 9), "full line\n\nend");
  EXPECT_EQ(screen_of("full line \nend", 9), "full line\nend");
  EXPECT_EQ(screen_of("full line   end", 9), "full line\nend");
}

TEST(WordWrap, BreaksLongWordsWhereTheLineEnds) {
  EXPECT_EQ(screen_of("0123456789ab cd", 5), "01234\n56789\nab cd");
  EXPECT_EQ(screen_of("x 0123456789ab cd", 5), "x\n01234\n56789\nab cd");
}

TEST(WordWrap, CountsColumns) {
  EXPECT_EQ(screen_of("e\u0301te\u0301 e\u0301te\u0301", 7), "e\u0301te\u0301 e\u0301te\u0301");
  EXPECT_EQ(screen_of("e\u0301te\u0301 e\u0301te\u0301", 6), "e\u0301te\u0301\ne\u0301te\u0301");
  EXPECT_EQ(screen_of("\u6f22\u5b57\u6f22\u5b57", 5), "\u6f22\u5b57\n\u6f22\u5b57");
  EXPECT_EQ(screen_of("\u6f22\u5b57\u6f22\u3002\u5b57", 6), "\u6f22\u5b57\n\u6f22\u3002\u5b57");
  EXPECT_EQ(screen_of("\u6f22\u5b57 word", 6), "\u6f22\u5b57\nword");
  EXPECT_EQ(screen_of("\u6f22\u5b57word", 6), "\u6f22\u5b57\nword");
}

TEST(WordWrap, LeavesCodeAndTablesToTheTerminal) {
  EXPECT_EQ(screen_of("```\nint a = 1;\n```\nint a = 1;", 8), "```\nint a =\n1;\n```\nint a =\n1;");
  EXPECT_EQ(screen_of("```py\nlong line\n```\nlong line", 6),
            "```py\nlong l\nine\n```\nlong\nline");
  EXPECT_EQ(screen_of("  ~~~\n```\nlong line\n~~~\nlong line", 6),
            "  ~~~\n```\nlong l\nine\n~~~\nlong\nline");
  EXPECT_EQ(screen_of("| a table |\n``a table``", 6), "| a ta\nble |\n``a\ntable`\n`");
}

TEST(WordWrap, MovesAWordThatHasBegun) {
  WordWrap wrap;
  EXPECT_EQ(wrap.add("one tw", 6), "one tw");
  EXPECT_EQ(wrap.add("o", 6), "\r\x1b[4C\x1b[K\ntwo");
  EXPECT_EQ(wrap.add(" x", 6), " x");
}

TEST(WordWrap, AfterAResizeTheRestOfTheLineIsTheTerminals) {
  WordWrap wrap;
  wrap.add("one two", 10);
  EXPECT_EQ(wrap.add(" three four\nfive six", 6), " three four\nfive s\r\x1b[5C\x1b[K\nsix");
}

TEST(WordWrap, ChangesNothingButBlanks) {
  std::mt19937 random(1);
  const std::vector<std::string> letters{"a", "bc", " ", " ", "\u6f22", "\u3002", "e\u0301", "\t"};
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int k = 0; k < 60; ++k) text += letters[random() % letters.size()];
    const auto without_blanks = [](std::string s) {
      std::erase_if(s, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
      return s;
    };
    const std::size_t columns = 2 + random() % 20;
    EXPECT_EQ(without_blanks(screen_of(text, columns)), without_blanks(text)) << columns;
  }
}

}  // namespace
}  // namespace ingot
