// Tests of patterns: syntax, classes, assertions; random patterns against PCRE2.
#include "constraint/language/pattern.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <random>

#include "base/text.h"
#include "constraint/language/language_test_util.h"
#include "constraint/language/pcre_test_util.h"

namespace ingot {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  CompileBudget budget;
  return compile_pattern(pattern, Anchoring::kSearch, budget).contains(text);
}

bool matches_whole(std::string_view pattern, std::string_view text) {
  CompileBudget budget;
  return compile_pattern(pattern, Anchoring::kWhole, budget).contains(text);
}

/// Returns the message of the error, or nothing if the pattern compiles.
std::string error_of(std::string_view pattern, std::uint64_t steps = CompileBudget::kStepsMax) {
  try {
    CompileBudget budget(steps);
    (void)compile_pattern(pattern, Anchoring::kSearch, budget);
    return "";
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(Pattern, SearchesOrMatchesTheWholeText) {
  EXPECT_TRUE(matches("b", "abc"));
  EXPECT_FALSE(matches_whole("b", "abc"));
  EXPECT_TRUE(matches_whole("a|abc|ab", "abc"));
  EXPECT_TRUE(matches("^a|c$", "ab"));
  EXPECT_TRUE(matches("^a|c$", "bc"));
  EXPECT_FALSE(matches("^a|c$", "bca"));
  EXPECT_TRUE(matches("", "anything"));
  EXPECT_TRUE(matches("(^|x)a($|y)", "za xay"));
  EXPECT_FALSE(matches("(^|x)a($|y)", "zay"));
  EXPECT_FALSE(matches("a$", "a\n"));
  EXPECT_FALSE(matches("a$b", "a"));
}

TEST(Pattern, ReadsEscapes) {
  EXPECT_TRUE(
      matches_whole(R"(\x41\u0042\u{43}\cJ\t\n\r\v\f\0)", std::string("ABC\n\t\n\r\v\f\0", 10)));
  EXPECT_TRUE(matches_whole(R"(\ud83d\ude00)", "😀"));
  EXPECT_TRUE(matches_whole(R"([\ud83d\ude00-\u{1F610}])", "😂"));
  EXPECT_TRUE(matches_whole(R"(\-\_\/\.\@\:\,\"\#)", R"(-_/.@:,"#)"));
  EXPECT_TRUE(matches_whole(R"([\b\]\-x-])", "\b"));
  EXPECT_TRUE(matches_whole("^a{,2}{b}]$", "a{,2}{b}]"));
  EXPECT_TRUE(matches_whole("[[a-z]", "["));
  EXPECT_TRUE(matches_whole(R"([\w-.]+)", "a-."));
  EXPECT_FALSE(matches("[]", "a"));
  EXPECT_TRUE(matches_whole("[^]", "\n"));
  EXPECT_FALSE(matches_whole(".", "\u2028"));
  EXPECT_FALSE(matches(R"(\ud800)", "\xED\xA0\x80"));
}

TEST(Pattern, KnowsClasses) {
  EXPECT_TRUE(matches_whole(R"(\d\D\w\W\s\S)", "1a_é\u00A0é"));
  EXPECT_FALSE(matches(R"(\d)", "\u0661"));
  EXPECT_FALSE(matches(R"(\w)", "é"));
  EXPECT_TRUE(matches_whole(R"(\p{Lu}\p{L}\p{gc=Nd}\P{L}\p{Letter}\p{digit})", "Äß1-é7"));
  EXPECT_TRUE(matches_whole(R"([\p{L}\d]+)", "Ünï9"));
  EXPECT_TRUE(matches_whole(R"([^\P{Lu}]+)", "ÄB"));
  EXPECT_TRUE(matches_whole(R"(\p{Any}\p{ASCII}\p{General_Category=Uppercase_Letter})", "😀aB"));
}

TEST(Pattern, Repeats) {
  EXPECT_TRUE(matches_whole("a{2}b{1,}c{0,2}?d*?e+?f??", "aabbbccde"));
  EXPECT_FALSE(matches_whole("a{2,3}", "aaaa"));
  EXPECT_TRUE(matches_whole("(a*)*", "aaa"));
  EXPECT_TRUE(matches_whole("((a?b?){2}){3}", "ababab"));
  EXPECT_TRUE(matches_whole("(a{0}b)+", "bb"));
  EXPECT_TRUE(matches_whole("(?:){0,1000}", ""));
  EXPECT_EQ(error_of("(?:){0,1000000000}", 100'000).substr(0, 14), "is too complex");
}

TEST(Pattern, KnowsWordBoundaries) {
  EXPECT_TRUE(matches(R"(\bcat\b)", "a cat."));
  EXPECT_FALSE(matches(R"(\bcat\b)", "concat"));
  EXPECT_TRUE(matches(R"(\Bcat)", "concat"));
  EXPECT_TRUE(matches(R"(^\b)", "a"));
  EXPECT_FALSE(matches(R"(\b)", "é"));
  EXPECT_TRUE(matches(R"((?=\bb)b)", "a b"));
  EXPECT_FALSE(matches(R"((?=\bb)b)", "ab"));
}

TEST(Pattern, CompilesLookarounds) {
  const char* password = R"(^(?=.*[A-Z])(?=.*\d)(?!.*\s).{8,}$)";
  EXPECT_TRUE(matches(password, "Passw0rd"));
  EXPECT_FALSE(matches(password, "passw0rd"));
  EXPECT_FALSE(matches(password, "Passw0r d"));
  EXPECT_FALSE(matches(password, "Passw0r"));
  EXPECT_TRUE(matches("^(?!foo$).*$", "food"));
  EXPECT_FALSE(matches("^(?!foo$).*$", "foo"));
  EXPECT_TRUE(matches("a(?!b(?!c))", "xabc"));
  EXPECT_FALSE(matches("a(?!b(?!c))", "xabd"));
  EXPECT_TRUE(matches("(?<=^a|b)c(?<!bc)", "ac"));
  EXPECT_FALSE(matches("(?<=^a|b)c(?<!bc)", "bc"));
  EXPECT_TRUE(matches("^((?!--)[a-z-])+$", "a-b-c"));
  EXPECT_FALSE(matches("^((?!--)[a-z-])+$", "a--b"));
  EXPECT_TRUE(matches("^(?=a)*b$", "b"));
  // Patterns that pydantic and zod write.
  const char* decimal = R"(^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$)";
  EXPECT_TRUE(matches(decimal, "-12.50"));
  EXPECT_FALSE(matches(decimal, "+."));
  const char* email = R"(^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@)"
                      R"(([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$)";
  EXPECT_TRUE(matches(email, "a.b@example.org"));
  EXPECT_FALSE(matches(email, "a..b@example.org"));
  const char* uuid =
      "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|"
      "00000000-0000-0000-0000-000000000000)$";
  EXPECT_TRUE(matches(uuid, "123e4567-e89b-12d3-a456-426614174000"));
  const char* date =
      R"(^(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|)"
      R"(\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|)"
      R"((?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))$)";
  EXPECT_TRUE(matches(date, "2024-02-29"));
  EXPECT_FALSE(matches(date, "2023-02-29"));
}

TEST(Pattern, RefusesWhatItCannotCompile) {
  EXPECT_EQ(error_of("a**"), "is malformed at byte 2: nothing to repeat");
  EXPECT_EQ(error_of("foo**"), "is malformed at byte 4: nothing to repeat");
  EXPECT_EQ(error_of("a(b"), "is malformed at byte 1: ( without )");
  EXPECT_EQ(error_of("ab)"), "is malformed at byte 2: ) without (");
  EXPECT_EQ(error_of("[z-a]"), "is malformed at byte 1: the range is out of order");
  EXPECT_EQ(error_of("[a"), "is malformed at byte 0: [ without ]");
  EXPECT_EQ(error_of("a{3,2}"), "is malformed at byte 0: the numbers of {n,m} are out of order");
  EXPECT_EQ(error_of("(?<=x)*"), "is malformed at byte 0: a lookbehind cannot be repeated");
  EXPECT_EQ(error_of("^*"), "is malformed at byte 0: an assertion cannot be repeated");
  EXPECT_EQ(error_of(R"((a)\1)"), "is not supported at byte 3: a backreference");
  EXPECT_EQ(error_of(R"((?<n>a)\k<n>)"), "is not supported at byte 7: a backreference");
  EXPECT_EQ(error_of("(?i)a"), "is not supported at byte 0: this kind of group, or flags");
  EXPECT_EQ(error_of(R"(\p{Foo})"), "is not supported at byte 0: the property \\p{Foo}");
  EXPECT_EQ(error_of("(?=(?<=a)b)"), "is not supported at byte 3: a lookbehind in a lookahead");
  for (const char* pattern :
       {"\\",   "\\A",  "\\Z",      "\\a",   "\\xG0", "\\u{}",  "\\u{110000}", "\\u12",
        "\\c1", "\\pL", "\\p{L",    "(?",    "(?<a",  "(?<>a)", "[\\",         "*a",
        "(|*)", "{1}",  "[a-\\xZ]", "(?>a)", "\\07",  "a\xFF"}) {
    EXPECT_NE(error_of(pattern), "") << pattern;
  }
}

TEST(Pattern, StaysWithinItsLimits) {
  EXPECT_NE(error_of(std::string(30'000, '(')).find("nested groups"), std::string::npos);
  EXPECT_NE(error_of(std::string(30'000, '(') + std::string(30'000, ')')), "");
  EXPECT_EQ(error_of(std::string(99, '(') + "a" + std::string(99, ')')), "");
  EXPECT_EQ(error_of("(a+)+$"), "");
  EXPECT_NE(error_of("(.*a.{20})", 400'000), "");  // needs 2^20 states
  EXPECT_NE(error_of("((a{1,1000}){1,1000}){1,1000}", 400'000), "");
  EXPECT_EQ(error_of("^" + std::string(15'000, 'a')), "");
  EXPECT_NE(error_of(std::string(1'000'000, 'a'), 400'000), "");
  std::string nested = "a";
  for (int i = 0; i < 30; ++i) nested = cat("(?=", nested, ")");
  EXPECT_NE(error_of(nested), "");
}

/// Calls `work` in a thread with the smallest stack that a server uses.
void run_with_small_stack(void (*work)()) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
  pthread_t thread{};
  const auto call = [](void* argument) -> void* {
    (*static_cast<void (**)()>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &work), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(Pattern, FitsSmallStacks) {
  run_with_small_stack([] {
    std::string groups = "a";
    for (int i = 0; i < 99; ++i) groups = cat("(x|", groups, "b)?");
    EXPECT_EQ(error_of(groups), "");
    std::string lookarounds = "a";
    for (int i = 0; i < 16; ++i) lookarounds = cat("(?!(?:", lookarounds, "b)+)");
    EXPECT_EQ(error_of(lookarounds), "");
    EXPECT_NE(error_of(std::string(100'000, '(')), "");
    EXPECT_EQ(error_of("^" + std::string(10'000, '|')), "");
  });
}

TEST(Pattern, CompilesManyAlternatives) {
  std::string pattern = "^(";
  for (int i = 0; i < 3'000; ++i) pattern += cat(i == 0 ? "" : "|", "w", i * 7919 % 100'003);
  CompileBudget budget;
  const TextDfa dfa = compile_pattern(pattern + ")$", Anchoring::kSearch, budget);
  EXPECT_EQ(dfa.count(TextDfa::start()), 3'000U);
}

TEST(Pattern, ReadsRepeatedLookarounds) {
  // A copy of a lookaround has the number of the first one.
  std::string pattern = "^(?:";
  for (int i = 0; i < 10; ++i) pattern += cat("(?!", i, "x)");
  pattern += "[0-9a-z]){4}$";
  EXPECT_TRUE(matches(pattern, "12ab"));
  EXPECT_FALSE(matches(pattern, "a2xb"));
  // Within the budget or refused: one lookup for each of a million copies.
  std::string many;
  for (int i = 0; i < 13'000; ++i) many += "(?=a)";
  EXPECT_NE(error_of(cat("(?:", many, "a){70}")), "");
}

TEST(Pattern, SurvivesAnyText) {
  static constexpr const char* kPieces[] = {
      "(", ")", "[",  "]",   "{",  "}", "?", "*",    "+",  "|", "^", "$", ".", "\\", "a", "1",
      ",", "-", "?=", "?<!", "?!", "b", "u", "p{L}", "?<", ">", "d", "é", "😀", ":",  "B"};
  std::mt19937_64 random(5);
  int compiled = 0;
  for (int round = 0; round < 3'000; ++round) {
    std::string pattern;
    for (std::size_t i = below(random, 14); i > 0; --i) {
      pattern += kPieces[below(random, std::size(kPieces))];
    }
    const std::string message = error_of(pattern, 100'000);
    compiled += message.empty() ? 1 : 0;
    EXPECT_TRUE(message.empty() || message.starts_with("is ")) << pattern << ": " << message;
  }
  EXPECT_GT(compiled, 100);
}

/// Writes a random pattern. `depth` bounds the nesting.
std::string random_pattern(std::mt19937_64& random, int depth, bool in_look) {
  static constexpr const char* kAtoms[] = {"a", "b", "[ab]", ".",    R"(\b)", R"(\B)",
                                           "^", "$", "_",    "[^a]", R"(\w)", " "};
  static constexpr const char* kQuantifiers[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}?"};
  std::string out;
  for (std::size_t i = 1 + below(random, 3); i > 0; --i) {
    const std::size_t kind = depth == 0 ? 0 : below(random, 10);
    if (kind < 5) {
      const std::size_t atom = below(random, std::size(kAtoms));
      out += kAtoms[atom];
      const bool is_assertion = atom >= 4 && atom <= 7;
      if (!is_assertion) out += kQuantifiers[below(random, std::size(kQuantifiers))];
    } else if (kind < 7) {
      out += cat("(?:", random_pattern(random, depth - 1, in_look), "|",
                 random_pattern(random, depth - 1, in_look), ")");
      out += kQuantifiers[below(random, std::size(kQuantifiers))];
    } else if (kind < 9) {
      out += cat(kind == 7 ? "(?=" : "(?!", random_pattern(random, depth - 1, true), ")");
    } else if (!in_look) {
      out += below(random, 2) == 0 ? "(?<=" : "(?<!";
      out += below(random, 2) == 0 ? "a[ab])" : "^|b_)";
    }
  }
  return out;
}

TEST(Pattern, RandomPatternsAgreeWithPcre) {
  std::vector<std::string> texts{""};
  for (std::size_t i = 0; texts[i].size() < 5; ++i) {
    for (const char c : {'a', 'b', '_', ' '}) texts.push_back(texts[i] + c);
  }
  std::mt19937_64 random(7);
  int compared = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string pattern = random_pattern(random, 3, false);
    const Pcre pcre(for_pcre(pattern));
    ASSERT_TRUE(pcre.is_valid()) << pattern;
    CompileBudget budget;
    const TextDfa dfa = compile_pattern(pattern, Anchoring::kSearch, budget);
    for (const std::string& text : texts) {
      const int expected = pcre.matches(text);
      if (expected < 0) continue;
      ASSERT_EQ(dfa.contains(text), expected == 1) << pattern << "\n text: '" << text << "'";
      compared += expected;
    }
  }
  EXPECT_GT(compared, 10'000);
}

}  // namespace
}  // namespace ingot
