// Lark: which texts translated grammars allow, and what is refused.
#include "constraint/lark.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "constraint/constraint_test_util.h"

namespace ingot {
namespace {

using testing::allows;

bool lark_allows(const std::string& grammar, std::string_view text) {
  return allows(
      *compile_constraint(testing::gbnf_spec(gbnf_of_lark(grammar)), testing::byte_trie()), text);
}

std::string lark_refusal(const std::string& grammar) {
  try {
    gbnf_of_lark(grammar);
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
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
  EXPECT_NE(lark_refusal("start: /a/\n%ignore /#.*/"), "accepted");  // may end early
  EXPECT_NE(lark_refusal("start: /a/\n%ignore /(ab)+/"), "accepted");
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
