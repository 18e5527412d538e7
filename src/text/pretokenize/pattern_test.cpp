// Regular expressions from strangers (T04 of the hostile input list): refused, or bounded, or what
// Oniguruma means by them.
#include "text/pretokenize/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "text/pretokenize/regex_syntax.h"
#include "text/unicode/normalize.h"

namespace ingot::testing {
namespace {

using Pieces = std::vector<std::string>;

Pieces isolated(const Pattern& pattern, std::string_view text) {
  Pieces pieces;
  pattern.split(text, SplitBehavior::kIsolated, false,
                [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

Pieces isolated(std::string_view regex, std::string_view text) {
  return isolated(Pattern::regex(regex, "test"), text);
}

std::string refusal(std::string_view regex) {
  try {
    Pattern::regex(regex, "t.json");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kModel);
    EXPECT_EQ(e.message().find('\n'), std::string::npos) << e.message();
    EXPECT_EQ(e.message().rfind("t.json: ", 0), 0U) << e.message();
    return e.message();
  }
  return "";
}

bool comes_to_an_end(const Pattern& pattern, std::string_view text) {
  try {
    isolated(pattern, text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalid);
    EXPECT_EQ(e.message().find('\n'), std::string::npos) << e.message();
    return false;
  }
  return true;
}

TEST(Pattern, LiteralsAreFoundFromTheLeft) {
  EXPECT_EQ(isolated(Pattern::literal("aa", "test"), "aaab"), (Pieces{"aa", "ab"}));
  EXPECT_EQ(isolated(Pattern::literal(" ", "test"), "a b"), (Pieces{"a", " ", "b"}));
  EXPECT_EQ(isolated(Pattern::literal(".", "test"), "a.b"), (Pieces{"a", ".", "b"}));
  EXPECT_EQ(isolated(Pattern::literal("", "test"), "ab"), (Pieces{"ab"}));
  EXPECT_THROW(Pattern::literal(std::string(kPatternBytesMax + 1, 'a'), "test"), Error);
}

TEST(Pattern, SplitsAtSpacesAsGemmaDoes) {
  Pieces pieces;
  Pattern::literal(" ", "test")
      .split(" a  b", SplitBehavior::kMergedWithPrevious, false,
             [&](std::string_view piece) { pieces.emplace_back(piece); });
  EXPECT_EQ(pieces, (Pieces{" ", "a ", " ", "b"}));
}

TEST(Pattern, LinesEndAtLineFeedsOnly) {
  EXPECT_EQ(isolated("b$", "ab\nab"), (Pieces{"a", "b", "\na", "b"}));
  EXPECT_EQ(isolated("^a", "ab\nab"), (Pieces{"a", "b\n", "a", "b"}));
  EXPECT_EQ(isolated("b$", "ab\rab"), (Pieces{"ab\ra", "b"}));
  EXPECT_EQ(isolated(".+", "a\rb\nc"), (Pieces{"a\rb", "\n", "c"}));
}

TEST(Pattern, ClassesAreThoseOfOniguruma) {
  // U+180E is no white space; marks and connecting punctuation are word characters.
  EXPECT_EQ(isolated(R"(\s)", "a\u180E\u0085b"), (Pieces{"a\u180E", "\u0085", "b"}));
  EXPECT_EQ(isolated(R"([^\S\n]+)", "a \t\n\u180E"), (Pieces{"a", " \t", "\n\u180E"}));
  EXPECT_EQ(isolated(R"(\w+)", "e\u0301\u203F1 \u24B6"), (Pieces{"e\u0301\u203F1", " ", "\u24B6"}));
  EXPECT_EQ(isolated(R"(\W+)", "a\u0301 -b"), (Pieces{"a\u0301", " -", "b"}));
  EXPECT_EQ(isolated(R"([\w']+)", "it's me"), (Pieces{"it's", " ", "me"}));
  // U+3001 is used with Han but is not of that script.
  EXPECT_EQ(isolated(R"(\p{Han}+)", "\u4E2D\u3001\u6587"), (Pieces{"\u4E2D", "\u3001", "\u6587"}));
  EXPECT_EQ(isolated(R"(\p{^L}+)", "a1b"), (Pieces{"a", "1", "b"}));
  EXPECT_EQ(isolated(R"(\u0041\x42\x{43})", "ABCD"), (Pieces{"ABC", "D"}));
}

TEST(Pattern, APlusBehindBoundsRepeats) {
  // Ruby's syntax: only behind *, + and ? does + make possessive.
  EXPECT_EQ(isolated(R"((?:a{2}+))", "aaaaa"), (Pieces{"aaaa", "a"}));
  EXPECT_EQ(isolated(R"((?:a{1,3}+))", "aaaaa"), (Pieces{"aaaaa"}));
  EXPECT_EQ(isolated(R"((a[bc]){2}+)", "abacabacab"), (Pieces{"abacabac", "ab"}));
  EXPECT_EQ(isolated(R"(a++b|a)", "aac"), (Pieces{"a", "a", "c"}));
}

TEST(Pattern, EmptyMatchesCutOnce) {
  EXPECT_EQ(isolated("(?=[A-Z])", "aBcD"), (Pieces{"a", "Bc", "D"}));
  EXPECT_EQ(isolated(R"((?=(\d{3})+(?!\d)))", "1234567"), (Pieces{"1", "234", "567"}));
  EXPECT_EQ(isolated("x*", "axb"), (Pieces{"a", "x", "b"}));
}

TEST(Pattern, GroupsLookaroundsAndBackreferences) {
  EXPECT_EQ(isolated(R"((?<=a)b)", "abb"), (Pieces{"a", "b", "b"}));
  EXPECT_EQ(isolated(R"((?<!a)b)", "abb"), (Pieces{"ab", "b"}));
  EXPECT_EQ(isolated(R"((a|b)\1)", "abba"), (Pieces{"a", "bb", "a"}));
  EXPECT_EQ(isolated(R"((?>a+)a|b)", "aab"), (Pieces{"aa", "b"}));
  EXPECT_EQ(isolated(R"((?i)ab)", "xAB"), (Pieces{"x", "AB"}));
}

TEST(Pattern, WhatIsReadDifferentlyOrUnknownIsRefused) {
  for (const char* regex : {R"(\h)",           R"(\v)",     R"(\R)",
                            R"(\X)",           R"(\Qa\E)",  R"(\b)",
                            R"(\g<1>)",        R"(\pL)",    R"(\y)",
                            R"([a&&b])",       R"([a[b]])", R"([[:alpha:]])",
                            R"([])",           R"([^]a])",  R"([a)",
                            R"(a(?i)b)",       R"((?m:a))", R"((?R))",
                            R"((?P<n>a))",     R"((?C1)a)", R"((*LIMIT_MATCH=1)a)",
                            R"((?1)(a))",      R"(a{,2})",  R"(a{)",
                            R"(a{2}?)",        R"(\u00)",   R"(\x{})",
                            R"(\x{zz})",       R"([\W])",   R"(\)",
                            R"(\p{Nonsense})", R"(\p{})",   R"((?<n>a))"}) {
    EXPECT_NE(refusal(regex), "") << regex;
  }
  EXPECT_NE(refusal(R"(a\hb)").find("'\\h' at 1"), std::string::npos);
}

TEST(Pattern, InvalidRegexesAreOneLine) {
  for (const char* regex :
       {"(", ")", "[z-a]", "*", "a{99999999}", "(?<=a*)b", R"(\2(a))", "\xFF", "a\n(\n"}) {
    EXPECT_NE(refusal(regex), "") << regex;
  }
  EXPECT_NE(refusal(std::string(10'000, '(') + std::string(10'000, ')')), "");
}

TEST(Pattern, LongOnesAreRefused) {
  const std::string message = refusal(std::string(1'000'000, 'a'));
  EXPECT_NE(message.find("more than 16384"), std::string::npos) << message;
  EXPECT_LT(message.size(), 400U);
  EXPECT_NO_THROW(Pattern::regex(std::string(4'000, 'a'), "test"));
}

TEST(Pattern, CatastrophicOnesAreBounded) {
  const std::string many(4'000, 'a');
  for (const char* regex :
       {"(a+)+[xy]", "(a|aa)+[xy]", "(a*)*[xy]", R"((a+)\1+[xy])", "(?=(a+)+[xy])a",
        "(?=(?=(?=a+[xy]|a+z)a+[xy]|a+z)a+[xy]|a+z)[ab]", "(.*)(.*)(.*)(.*)(.*)[xyz]"}) {
    EXPECT_FALSE(comes_to_an_end(Pattern::regex(regex, "test"), many)) << regex;
  }
  // The bound is on the steps of the whole text, not of each match.
  EXPECT_FALSE(comes_to_an_end(Pattern::regex("a*[xy]", "test"), many));
  EXPECT_TRUE(comes_to_an_end(Pattern::regex("a+|b", "test"), many));
}

TEST(Pattern, DeepGroupsAndLongTextsStayWithinTheirMemory) {
  const std::string many(1'000'000, 'a');
  EXPECT_FALSE(comes_to_an_end(Pattern::regex("(?:(a)|b)*[xy]", "test"), many));
  const Pattern pattern = Pattern::regex("(?:(a)|b){3}", "test");
  EXPECT_TRUE(comes_to_an_end(pattern, std::string(100'000, 'a')));
}

TEST(Pattern, ReplacesWithinItsBound) {
  const Pattern a = Pattern::literal("a", "test");
  EXPECT_EQ(a.replace("banana", "oo", 100), "boonoonoo");
  EXPECT_EQ(a.replace("banana", "", 100), "bnn");
  EXPECT_EQ(a.replace("banana", "oo", 9), "boonoonoo");
  EXPECT_THROW(a.replace("banana", "oo", 8), Error);
  EXPECT_EQ(Pattern::regex(R"( {2,})", "test").replace("a   b c", "_", 100), "a_b c");
  // T05: a million times the text.
  const std::string text(1000, 'a');
  EXPECT_THROW(a.replace(text, std::string(1'000'000, 'a'), normalized_bytes_max(text.size())),
               Error);
}

TEST(Pattern, ManyThreadsShareOne) {
  const Pattern pattern = Pattern::regex(R"((?:[a-c]+|\d))", "test");
  const Pieces expected = isolated(pattern, "abc1 2");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) EXPECT_EQ(isolated(pattern, "abc1 2"), expected);
    });
  }
}

TEST(RegexSyntax, WritesWhatPcre2Reads) {
  EXPECT_EQ(to_pcre2(R"(a\d[\-x]\.)", "test"), R"(a\d[\-x]\.)");
  EXPECT_EQ(to_pcre2(R"(\p{Lu}\p{^Greek})", "test"), R"(\p{Lu}\p{^sc:Greek})");
  EXPECT_EQ(to_pcre2(R"(x{1,2}+y{3})", "test"), R"((?:x{1,2})+y{3})");
  EXPECT_EQ(to_pcre2(R"(a(b[c]){1,2}+)", "test"), R"(a(?:(b[c]){1,2})+)");
}

}  // namespace
}  // namespace ingot::testing
