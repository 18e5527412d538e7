// Custom grammars as text: none writes a mark, neither in one terminal nor in several.
#include "text/chat/tools/custom_grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "constraint/matcher.h"

namespace ingot {
namespace {

const std::vector<std::string> kTag = {"</parameter>"};
const std::vector<std::string> kQuote = {"<|\"|>"};

/// Returns "added", or the error.
std::string added_text(const std::string& gbnf, const std::vector<std::string>& marks) {
  Grammar grammar;
  CompileBudget budget;
  Tool tool;
  tool.grammar_kind = Tool::Grammar::kGbnf;
  tool.grammar = gbnf;
  try {
    add_custom_text(grammar, tool, marks, budget);
  } catch (const Error& error) {
    return error.message();
  }
  return "added";
}

TEST(CustomGrammar, RefusesMarksOfSeveralTerminals) {
  const std::string nested = "root ::= \"<\" inner \">\"\ninner ::= \"/\"? [a-z]+ | root";
  EXPECT_NE(added_text(nested, kTag).find("</parameter>"), std::string::npos);
  EXPECT_EQ(added_text(nested, kQuote), "added");
  EXPECT_EQ(added_text("root ::= \"<\" inner \">\"\ninner ::= \"/\"? [a-oq-z]+ | root", kTag),
            "added");
  EXPECT_EQ(added_text("root ::= \"<\" inner \">\"\ninner ::= \" \" [a-z/]+ | root", kTag),
            "added");
  EXPECT_NE(added_text("root ::= \"a\" root | \"<|\" rest\nrest ::= \"\\\"\" root? \"|>\"", kQuote),
            "added");
  EXPECT_NE(added_text("root ::= \"<\" root* \"a\" | \"|\\\"|>\" root \"b\" | \"a\"", kQuote),
            "added");
  EXPECT_EQ(added_text("root ::= \"<\" \"b\" root* \"a\" | \"|\\\"|>\" root \"b\" | \"a\"", kQuote),
            "added");
}

TEST(CustomGrammar, LooksAtPartsInTheirOrder) {
  // Comparisons and quotients: behind "<" stands a name.
  EXPECT_EQ(added_text("root ::= term ((\"<\" | \"/\" | \">\") term)*\n"
                       "term ::= [a-z]+ | \"(\" root \")\"",
                       kTag),
            "added");
  EXPECT_NE(added_text("root ::= term ((\"<\" | \"/\" | \">\")+ term)* \">\"?\n"
                       "term ::= [a-z]+ | \"(\" root \")\"",
                       kTag),
            "added");
  // The separator of a list stands between its items.
  EXPECT_EQ(added_text("root ::= \"[\" item (\",\" item)* \"]\"\nitem ::= root | \"<\" | \"/\" | "
                       "\"parameter>\"",
                       kTag),
            "added");
  EXPECT_NE(added_text("root ::= \"[\" item (\",\"? item)* \"]\"\nitem ::= root | \"<\" | \"/\" | "
                       "\"parameter>\"",
                       kTag),
            "added");
}

}  // namespace
}  // namespace ingot
