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

/// A grammar of patches: lines behind headers, in several kinds of parts.
constexpr const char* kPatch = R"(start: begin part+ end
begin: "*** Begin" LF
end: "*** End" LF?

part: add | update   // two kinds
add: "*** Add: " filename LF added+
update: "*** Update: " filename LF move? change?
filename: /(.+)/
added: "+" /(.*)/ LF -> line
move: "*** Move: " filename LF
change: (context | line)+ last?
context: ("@@" | "@@ " /(.+)/) LF
line: ("+" | "-" | " ") /(.*)/ LF
last: "*** EOF" LF

%import common.LF
)";

TEST(Lark, Patches) {
  EXPECT_TRUE(lark_allows(kPatch, "*** Begin\n*** Add: a.py\n+x = \"1\"\n+\n*** End"));
  EXPECT_TRUE(lark_allows(kPatch,
                          "*** Begin\n*** Update: a\n*** Move: b\n@@ f\n-x\n+y\n*** EOF\n"
                          "*** Update: c\n@@\n z\n*** End\n"));
  EXPECT_FALSE(lark_allows(kPatch, "*** Begin\n*** End"));
  EXPECT_FALSE(lark_allows(kPatch, "*** Begin\n*** Add: a.py\n*** End"));
  EXPECT_FALSE(lark_allows(kPatch, "*** Begin\n*** Add: a.py\n-x\n*** End"));
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
}

TEST(Lark, RefusesWhatGbnfCannotSay) {
  EXPECT_EQ(lark_refusal("start: \"a\"\n%ignore WS"), "line 2: %ignore is not supported");
  EXPECT_NE(lark_refusal("start: /^a/"), "accepted");
  EXPECT_NE(lark_refusal("start: /(?=a)b/"), "accepted");
  EXPECT_NE(lark_refusal("start: /a/i"), "accepted");
  EXPECT_NE(lark_refusal("start: \"a\"i"), "accepted");
  EXPECT_NE(lark_refusal("start: a{b}"), "accepted");
  EXPECT_NE(lark_refusal("start: /\\bx/"), "accepted");
  EXPECT_NE(lark_refusal("start: \"a"), "accepted");
  EXPECT_NE(lark_refusal("start: /a"), "accepted");
  EXPECT_NE(lark_refusal("start: /[a"), "accepted");
  EXPECT_NE(lark_refusal("start /a/"), "accepted");
  EXPECT_NE(lark_refusal("%import common.X"), "accepted");
  EXPECT_NE(lark_refusal("%"), "accepted");
  EXPECT_NE(lark_refusal("start: \"\\"), "accepted");
}

}  // namespace
}  // namespace ingot
