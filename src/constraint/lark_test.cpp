// Lark: which texts translated grammars allow, and what is refused.
#include "constraint/lark.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "constraint/constraint_test_util.h"

namespace ingot {
namespace {

using testing::allows;

LarkTranslation translated(const std::string& grammar) {
  CompileBudget budget;
  return translate_lark(grammar, budget);
}

bool lark_allows(const std::string& grammar, std::string_view text) {
  return allows(
      *compile_constraint(testing::gbnf_spec(translated(grammar).gbnf), testing::byte_trie()),
      text);
}

std::string lark_refusal(const std::string& grammar) {
  try {
    translated(grammar);
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

std::vector<std::string> lark_notes(const std::string& grammar) {
  return translated(grammar).notes;
}

/// The patches that coding agents apply: files to add, to delete, and to update in hunks.
constexpr const char* kPatch = R"(start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_file | delete_file | update_file   // three kinds
add_file: "*** Add File: " path LF added+
delete_file: "*** Delete File: " path LF
update_file: "*** Update File: " path LF moved? changes?
path: /(.+)/
added: "+" /(.*)/ LF -> line
moved: "*** Move to: " path LF
changes: (context | line)+ last?
context: ("@@" | "@@ " /(.+)/) LF
line: ("+" | "-" | " ") /(.*)/ LF
last: "*** End of File" LF

%import common.LF
)";

TEST(Lark, Patches) {
  const std::string begin = "*** Begin Patch\n", end = "*** End Patch";
  for (const char* hunks :
       {"*** Add File: a.py\n+x = \"1\"\n+\n", "*** Delete File: a b.py\n",
        "*** Update File: a\n*** Move to: b\n@@ f\n-x\n+y\n*** End of File\n",
        "*** Update File: c\n@@\n z\n-\n+\n", "*** Update File: c\n*** Move to: d\n",
        "*** Add File: a\n+1\n*** Delete File: b\n*** Update File: c\n@@\n+*** End Patch\n"}) {
    EXPECT_TRUE(lark_allows(kPatch, begin + hunks + end)) << hunks;
    EXPECT_TRUE(lark_allows(kPatch, begin + hunks + end + "\n")) << hunks;
    EXPECT_FALSE(lark_allows(kPatch, begin + hunks)) << hunks;
    EXPECT_FALSE(lark_allows(kPatch, hunks + end)) << hunks;
  }
  for (const char* hunks :
       {"", "*** Add File: a.py\n", "*** Add File: a.py\n-x\n", "*** Add File: \n+x\n",
        "*** Delete File: a\n+x\n", "*** Update File: a\nx\n",
        "*** Update File: a\n*** Move to: \n", "*** Change File: a\n",
        "*** Update File: a\n*** End of File\n", "\n"}) {
    EXPECT_FALSE(lark_allows(kPatch, begin + hunks + end)) << hunks;
  }
}

TEST(Lark, IgnoredTextsStandBeforeTerminals) {
  const std::string sums = R"--(
?start: sum
sum: product ("+" product | "-" product)*
product: atom ("*" atom)*
atom: NUMBER | "(" sum ")" | NAME
NAME: /[a-z]/ /[a-z0-9]*/
%import common (NUMBER, WS_INLINE)
%import common.C_COMMENT -> NOTE
%ignore WS_INLINE
%ignore NOTE | "_"
)--";
  for (const char* text : {"1+2", " 1 + ( a1*\t2.5e3 )  ", "1_+ /* so */ 2", "((x))"}) {
    EXPECT_TRUE(lark_allows(sums, text)) << text;
  }
  for (const char* text : {"", "1 2", "a b", "1\n+2", "(1", "+", "a _b", " "}) {
    EXPECT_FALSE(lark_allows(sums, text)) << text;
  }
}

/// Verdicts of Lark 1.3.1 with the lexer dynamic.
TEST(Lark, CommentsEndAtALineBreak) {
  const std::string sums = R"--(
start: NUMBER ("+" NUMBER)*
NUMBER: /[0-9]+/
%ignore /#.*/
%ignore /[ \n]+/
)--";
  for (const char* text : {"1 #x\n+2", "1 #x", "1#x\n", "1 + # 2\n3", "#\n#a\n 1", "1 ##"}) {
    EXPECT_TRUE(lark_allows(sums, text)) << text;
  }
  for (const char* text : {"1 + #2", "1 #x+2\n3", "#1", "1 + # 2 3"}) {
    EXPECT_FALSE(lark_allows(sums, text)) << text;
  }
  EXPECT_EQ(lark_notes(sums), std::vector<std::string>{});
  EXPECT_TRUE(
      lark_allows("%import common (SH_COMMENT, WS)\n%ignore WS\n%ignore SH_COMMENT\n"
                  "start: \"a\" \"b\"",
                  "a # c\n # d\n b"));
}

TEST(Lark, NotesTerminalsThatMayEndEarly) {
  const auto note = [](const std::string& terminal) {
    return std::vector<std::string>{"Lark takes the longest text of " + terminal +
                                    ", here it may end earlier"};
  };
  EXPECT_EQ(lark_notes("start: A \"a\"\nA: /a+/"), note("A"));
  EXPECT_EQ(lark_notes("start: x\nx: y /b*/\n\ny: \"c\" /a[bc]?/"),
            note("the expression in line 4"));
  EXPECT_EQ(lark_notes("start: (A \",\"?)+\nA: /a+/"), note("A"));
  EXPECT_EQ(lark_notes("start: A A\nA: /a+/\n%ignore \" \""), note("A"));
  EXPECT_EQ(lark_notes("start: \"a\" \" b\"\n%ignore /[ ]+/"), note("what %ignore names"));
  EXPECT_EQ(lark_notes("start: /\".*?\"/"),
            std::vector<std::string>{"line 1: a quantifier with ? may take more than it has to"});
  for (const std::string exact :
       {"start: A \"b\"\nA: /a+/", "start: (A \",\")+\nA: /a+/", "start: A \"a\"\nA: /a+b/",
        "start: \"a\"* \"a\"", "start: A\nA: B \"a\"\nB: /a+/",
        "start: \"a\" \"b\"\n%ignore /[ ]+/", "start: A+\nA: /a[^a]*;/", kPatch}) {
    EXPECT_EQ(lark_notes(exact), std::vector<std::string>{}) << exact;
  }
}

TEST(Lark, NegatedClassesAllowNoMoreThanUnicode) {
  // Python's re: \w, \d and \s of a str are those of Unicode.
  for (const char* text : {"\u00e9", "\u0663"}) EXPECT_FALSE(lark_allows("start: /\\W/", text));
  EXPECT_TRUE(lark_allows("start: /\\W/", "-"));
  EXPECT_FALSE(lark_allows("start: /\\D/", "\u0663"));
  EXPECT_FALSE(lark_allows("start: /[^\\d]/", "\u0663"));
  EXPECT_FALSE(lark_allows("start: /[^\\w]/", "\u00e9"));
  EXPECT_TRUE(lark_allows("start: /\\D/", "x"));
  for (const char* expression : {"start: /\\S/", "start: /[^\\s]/"}) {
    for (const char* text : {"\u00a0", "\u2003", "\u3000", "\u0085", "\x1f", " "}) {
      EXPECT_FALSE(lark_allows(expression, text)) << text;
    }
    for (const char* text : {"x", "\u00e9", "\u0663", "\U0001F600"}) {
      EXPECT_TRUE(lark_allows(expression, text)) << text;
    }
  }
  // In any case, k is the sign for kelvin.
  EXPECT_FALSE(lark_allows("start: /[^k]/i", "\u212a"));
  EXPECT_TRUE(lark_allows("start: /[^k]/", "\u212a"));
}

/// A step is a character, a part or a state: their number is linear in the bytes.
TEST(Lark, SpendsOneBudget) {
  std::string rules = "start: \"x\"";
  for (int i = 0; rules.size() < 32'000; ++i) rules += " | \"x" + std::to_string(i) + "\"";
  const auto spent = [&](const std::string& ignored) {
    CompileBudget budget(40'000'000);
    try {
      translate_lark(rules + "\n%ignore " + ignored, budget);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    }
    return 40'000'000 - budget.left();
  };
  std::string same = "\"a\"", distinct = "\"a\"", open = "\"a\"";
  while (same.size() < 32'000) same += "|\"a\"";
  for (int i = 0; i < 2500; ++i) distinct += "|\"" + std::to_string(i) + "\"";
  for (int i = 0; i < 2500; ++i) open += "|/a" + std::to_string(i) + ".*/";
  for (const std::string& ignored : {same, distinct, open}) {
    EXPECT_GT(spent(ignored), rules.size());
    EXPECT_LT(spent(ignored), 100 * (rules.size() + ignored.size())) << ignored.substr(0, 20);
  }
  CompileBudget small(1000);
  EXPECT_THROW(translate_lark(rules, small), Error);
}

TEST(Lark, RulesMayBeginWithThemselves) {
  const std::string sums = R"(start: sum
sum: product | sum "+" product -> add | sum "-" product -> sub
product: INT
  | product "*" INT
%import common.INT
)";
  for (const char* text : {"1", "1+2-3", "1*2*3-4*5"}) EXPECT_TRUE(lark_allows(sums, text)) << text;
  for (const char* text : {"", "+1", "1+", "1**2", "1+-2"}) {
    EXPECT_FALSE(lark_allows(sums, text)) << text;
  }
  EXPECT_TRUE(lark_allows("start: start start | \"a\"", "aaa"));
  EXPECT_FALSE(lark_allows("start: start start | \"a\"", ""));
}

TEST(Lark, FlagsOfStringsAndExpressions) {
  const std::string query = "start: \"select\"i \" \" /[a-c_]+/i /.x/s";
  EXPECT_TRUE(lark_allows(query, "SeLECT aB_\nx"));
  EXPECT_FALSE(lark_allows(query, "SeLECT d\nx"));
  EXPECT_TRUE(lark_allows("start: /ab[^c]\\(/i", "aBd("));
  EXPECT_FALSE(lark_allows("start: /ab[^c]\\(/i", "aBC("));
  EXPECT_FALSE(lark_allows("start: /.x/", "\nx"));
}

TEST(Lark, CommonTerminals) {
  const auto common = [](const char* name, std::string_view text) {
    return lark_allows(std::string("%import common.") + name + " -> T\nstart: T", text);
  };
  for (const char* number : {"1", "1.", ".5", "1.5", "1e5", "1.5E-3", ".5e+1"}) {
    EXPECT_TRUE(common("NUMBER", number)) << number;
    EXPECT_TRUE(common("SIGNED_NUMBER", std::string("-") + number)) << number;
    EXPECT_EQ(common("FLOAT", number), std::string_view(number) != "1") << number;
    EXPECT_EQ(common("SIGNED_FLOAT", std::string("+") + number), std::string_view(number) != "1");
  }
  for (const char* text : {"", ".", "e5", "1e", "-1", "1.5.2"})
    EXPECT_FALSE(common("NUMBER", text));
  EXPECT_TRUE(common("ESCAPED_STRING", R"("a \" \\")"));
  EXPECT_FALSE(common("ESCAPED_STRING", R"("a \")"));
  EXPECT_FALSE(common("ESCAPED_STRING", R"("a"b")"));
  EXPECT_TRUE(common("C_COMMENT", "/* a **\n b **/"));
  EXPECT_FALSE(common("C_COMMENT", "/* a */ b */"));
  EXPECT_TRUE(common("CPP_COMMENT", "// a"));
  EXPECT_TRUE(common("SQL_COMMENT", "-- a"));
}

TEST(Lark, Notations) {
  EXPECT_TRUE(lark_allows("start: a\n a : \"x\"\n  | \"y\" // z", "y"));
  EXPECT_FALSE(lark_allows("start: a\n a : \"x\"\n  | \"y\" // z", "z"));
  EXPECT_TRUE(lark_allows("?start: [A] B~2\nA.2: \"a\"..\"f\"\nB: /[^\\d\\/]/", "e--"));
  EXPECT_FALSE(lark_allows("?start: [A] B~2\nA.2: \"a\"..\"f\"\nB: /[^\\d\\/]/", "e-/"));
  EXPECT_TRUE(lark_allows("start: X ~ 1..2\nX: /\\d{2}(?:,|\\.)*?/", "12,34"));
  EXPECT_FALSE(lark_allows("start: X ~ 1..2\nX: /\\d{2}(?:,|\\.)*?/", "12,34,56"));
  EXPECT_TRUE(lark_allows("start: /\"é+\\\\/", "\"éé\\"));
  EXPECT_TRUE(lark_allows("%import common (INT, WS)\nstart: INT WS INT", "1 \n 2"));
  EXPECT_TRUE(lark_allows("%import common.INT -> N\nstart: N", "12"));
  EXPECT_TRUE(lark_allows("start: A \\\n B # both\nA.-1: \"\\x41\"\n!B: /\\x42\\f/", "AB\f"));
}

TEST(Lark, RefusesWhatGbnfCannotSay) {
  EXPECT_EQ(lark_refusal("start: \"a\"\n%declare WS"), "line 2: %declare is not supported");
  EXPECT_NE(lark_refusal("start: /a/\n%ignore /#.*/"), "accepted");  // no line break is ignored
  EXPECT_EQ(lark_refusal("start: /a/\n%ignore /(ab)+/\n\n%ignore \"a\""),
            "line 2: %ignore is supported for single characters, their repetitions, texts with an "
            "end, and texts that end before a character that is ignored too");
  EXPECT_NE(lark_refusal("start: /a/\n%ignore X"), "accepted");
  EXPECT_NE(lark_refusal("start: /^a/"), "accepted");
  EXPECT_NE(lark_refusal("start: /(?=a)b/"), "accepted");
  EXPECT_NE(lark_refusal("start: /a/x"), "accepted");
  EXPECT_NE(lark_refusal("start: \"a\"x"), "accepted");
  EXPECT_NE(lark_refusal("start: /\u00e4/i"), "accepted");
  EXPECT_NE(lark_refusal("start: /[A-z]/i"), "accepted");
  EXPECT_NE(lark_refusal("start: a{b}"), "accepted");
  EXPECT_NE(lark_refusal("start{b}: b"), "accepted");
  EXPECT_NE(lark_refusal("start: a)"), "accepted");
  EXPECT_EQ(lark_refusal("start: (\"a\"]"), "line 1: unexpected ]");
  EXPECT_EQ(lark_refusal("start: [\"a\" (\"b\"])"), "line 1: unexpected ]");
  EXPECT_EQ(lark_refusal("start: (\"a\""), "line 1: a group has no end");
  EXPECT_EQ(lark_refusal("start: /[/i]a/\"b\""), "line 1: a class has no end");
  EXPECT_NE(lark_refusal("start: /\\bx/"), "accepted");
  EXPECT_NE(lark_refusal("start: \"a"), "accepted");
  EXPECT_NE(lark_refusal("start: /a"), "accepted");
  EXPECT_NE(lark_refusal("start: /[a"), "accepted");
  EXPECT_NE(lark_refusal("start /a/"), "accepted");
  EXPECT_NE(lark_refusal("%import common.X"), "accepted");
  EXPECT_NE(lark_refusal("%"), "accepted");
  EXPECT_NE(lark_refusal("start: \"\\"), "accepted");
}

TEST(Lark, TextsThatAreCutEndInErrors) {
  for (const std::string whole :
       {kPatch,
        "start: \"a\"i /[b-c\\x41]\\//s A~1..2 [A]\nA.-2: \"a\"..\"f\" -> c\n"
        "%import common (WS, INT) // x\n%ignore WS"}) {
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      EXPECT_NE(lark_refusal(whole.substr(0, size)), "") << size;  // nothing else is thrown
    }
    EXPECT_EQ(lark_refusal(whole), "accepted");
  }
}

}  // namespace
}  // namespace ingot
