// Tests of GBNF: which texts its grammars allow, and which grammars are refused.
#include "constraint/gbnf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ingot {
namespace {

/// Finds the ends of all texts of a node that begin at a place: slow and simple.
class Recogniser {
 public:
  using Ends = std::set<std::size_t>;

  Recogniser(const Grammar& grammar, std::string_view text) : grammar_(grammar), text_(text) {}

  bool accepts() { return ends(grammar_.root(), 0).count(text_.size()) > 0; }

 private:
  Ends ends(NodeId node, std::size_t at) {
    const auto known = known_.find({node, at});
    if (known != known_.end()) return known->second;
    Ends found;
    const GrammarNode& contents = grammar_.node(node);
    if (const auto* terminal = std::get_if<grammar::Terminal>(&contents)) {
      found = terminal_ends(grammar_.language(terminal->language), at);
    } else if (const auto* sequence = std::get_if<grammar::Sequence>(&contents)) {
      found = {at};
      for (const NodeId part : sequence->parts) found = ends_behind(part, found);
    } else if (const auto* choice = std::get_if<grammar::Choice>(&contents)) {
      for (const NodeId part : choice->alternatives) found.merge(ends(part, at));
    } else if (const auto* repeat = std::get_if<grammar::Repeat>(&contents)) {
      found = repeat_ends(*repeat, at);
    } else {
      ADD_FAILURE() << "a node of another kind";
    }
    known_[{node, at}] = found;
    return found;
  }

  Ends ends_behind(NodeId part, const Ends& begins) {
    Ends found;
    for (const std::size_t begin : begins) found.merge(ends(part, begin));
    return found;
  }

  Ends terminal_ends(const TextDfa& language, std::size_t at) {
    Ends found;
    if (language.is_empty()) return found;
    std::int32_t state = TextDfa::start();
    while (true) {
      if (language.accepts(state)) found.insert(at);
      const Utf8Char c = decode_utf8(text_.substr(at));
      if (!c.valid) return found;
      state = language.step(state, c.code);
      if (state == TextDfa::kDead) return found;
      at += c.size;
    }
  }

  Ends repeat_ends(const grammar::Repeat& repeat, std::size_t at) {
    Ends found;
    Ends last = {at};
    for (std::uint64_t count = 0; count <= repeat.count_max && !last.empty(); ++count) {
      if (count >= repeat.count_min) found.insert(last.begin(), last.end());
      Ends next;
      for (const std::size_t begin : last) {
        Ends behind = ends(repeat.part, begin);
        EXPECT_EQ(behind.count(begin), 0U) << "a repeated part matches nothing";
        behind.erase(begin);
        next.merge(behind);
      }
      last = std::move(next);
    }
    return found;
  }

  const Grammar& grammar_;
  std::string_view text_;
  std::map<std::pair<NodeId, std::size_t>, Ends> known_;
};

Grammar compiled(std::string_view text) {
  Grammar grammar;
  CompileBudget budget;
  grammar.set_root(add_gbnf(grammar, text, budget));
  return grammar;
}

bool accepts(const Grammar& grammar, std::string_view text) {
  return Recogniser(grammar, text).accepts();
}

void expect_texts(std::string_view gbnf, const std::vector<std::string>& good,
                  const std::vector<std::string>& bad) {
  const Grammar grammar = compiled(gbnf);
  for (const std::string& text : good) EXPECT_TRUE(accepts(grammar, text)) << gbnf << ": " << text;
  for (const std::string& text : bad) EXPECT_FALSE(accepts(grammar, text)) << gbnf << ": " << text;
}

std::string refusal(std::string_view gbnf) {
  try {
    compiled(gbnf);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalid);
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.message();
  }
  return "accepted";
}

TEST(Gbnf, Literals) {
  expect_texts(R"(root ::= "a\"\\\n\t\r\x41\u00e9\U0001F600")", {"a\"\\\n\t\rA\u00e9\U0001F600"},
               {"", "a", "a\"\\\n\t\rA\u00e9"});
  expect_texts(R"(root ::= "\[\]\-" "")", {"[]-"}, {"[]", "[]--"});
  expect_texts("root ::= \"\xE2\x82\xAC#|\"", {"\u20ac#|"}, {"\u20ac"});
}

TEST(Gbnf, Classes) {
  expect_texts("root ::= [a-cx]", {"a", "b", "c", "x"}, {"", "d", "-", "ab"});
  expect_texts("root ::= [^a-c\\n]", {"d", "\u20ac", "-"}, {"a", "c", "\n", ""});
  expect_texts("root ::= [a-]", {"a", "-"}, {"b"});
  expect_texts("root ::= [-a]", {"a", "-"}, {"b"});
  expect_texts("root ::= [\\]\\\\]", {"]", "\\"}, {"["});
  expect_texts("root ::= [\xE3\x81\x81-\xE3\x82\x9F]+", {"\u3041\u309f"}, {"\u30a1"});
  expect_texts("root ::= . .", {"ab", "\n\U0001F600"}, {"a", "abc"});
  expect_texts("root ::= [^]", {"a", "\n"}, {"", "ab"});
}

TEST(Gbnf, Repetitions) {
  expect_texts("root ::= \"ab\"*", {"", "ab", "abab"}, {"a", "aba"});
  expect_texts("root ::= \"ab\"+", {"ab", "abab"}, {"", "abb"});
  expect_texts("root ::= \"ab\"? \"c\"", {"c", "abc"}, {"ac"});
  expect_texts("root ::= [ab]{2}", {"ab", "bb"}, {"a", "aba"});
  expect_texts("root ::= [ab]{ 2 , }", {"ab", "bbaa"}, {"a"});
  expect_texts("root ::= [ab]{1,3}", {"a", "bba"}, {"", "abab"});
  expect_texts("root ::= [ab]{0,2}", {"", "a", "bb"}, {"aaa"});
  expect_texts("root ::= (\"a\"? \"b\"?)* \"c\"", {"c", "abc", "aabbc"}, {"ca"});
  expect_texts("root ::= \"a\"*?+", {"", "aaa"}, {"b"});
}

TEST(Gbnf, AlternativesAndGroups) {
  expect_texts("root ::= \"a\" \"b\" | \"c\" (\"d\" | \"e\")", {"ab", "cd", "ce"}, {"abd", "c"});
  expect_texts("root ::= \"a\" (\"b\" |)", {"a", "ab"}, {"b"});
  expect_texts("root ::= | \"a\"", {"", "a"}, {"b"});
  expect_texts("root ::= () \"a\"", {"a"}, {""});
}

TEST(Gbnf, LinesAndComments) {
  expect_texts(
      "# first\n\nroot ::= # behind the sign\n  ( # in a group\n \"a\"\n  b # | \"x\"\n )\r\n"
      "b   ::= \"1\" |\n   \"2\"\n   | \"3\" # last\n",
      {"a1", "a2", "a3"}, {"a", "ax"});
}

TEST(Gbnf, Recursion) {
  expect_texts("root ::= \"(\" root \")\" | \"x\"", {"x", "((x))"}, {"(x", "()", "x)"});
  expect_texts("root ::= \"(\" root \")\" root |", {"", "()", "(())()"}, {"(", ")("});
  expect_texts("root ::= item (\",\" item)*\nitem ::= [0-9]+ | \"[\" root \"]\"",
               {"1", "1,22,[3,[4]]"}, {"", "1,", "[1", "[]"});
  // Right recursion: the language is regular, but it stays nodes.
  expect_texts("root ::= \"a\" root | \"b\"", {"b", "aab"}, {"a", "aa"});
}

TEST(Gbnf, RecursionThatMayMatchNothing) {
  const std::string list = "list ::= | \"(\" list \")\"\n";
  expect_texts(list + "root ::= list*", {"", "()", "()(())"}, {"(", ")"});
  expect_texts(list + "root ::= (list \"a\"?)+", {"", "a", "()a()", "aa()"}, {"(", "b"});
  expect_texts(list + "root ::= (list list \"a\"*){2} \"b\"", {"b", "()()()()ab", "aab"},
               {"", "a"});
  expect_texts(list + "root ::= list{2,3} [a-z]?", {"", "()()()", "()z"}, {"()()()()", "zz"});
  expect_texts(list + "opt ::= list\nroot ::= opt? (opt | \"x\"*)+", {"", "()x()"}, {"y"});
}

TEST(Gbnf, PartsWithoutRecursionAreLanguages) {
  const Grammar regular = compiled("root ::= a b*\na ::= \"x\" | [0-9]{1,4}\nb ::= \",\" a");
  EXPECT_EQ(regular.languages(), 1U);
  // Neighbours without recursion are one language.
  const Grammar mixed =
      compiled("root ::= \"(\" ws root ws \")\" ws | [a-z] | [0-9]\nws ::= \" \"*");
  EXPECT_EQ(mixed.languages(), 3U);
}

TEST(Gbnf, LanguagesThatDoNotFitStayNodes) {
  // An automaton of this text needs 2^40 states.
  expect_texts("root ::= [ab]* \"a\" [ab]{40} \"c\"",
               {"a" + std::string(40, 'b') + "c", "bba" + std::string(40, 'a') + "c"},
               {"b" + std::string(40, 'b') + "c", "a" + std::string(39, 'b') + "c"});
  expect_texts("root ::= \"a\"{90000} | \"b\"", {"b", std::string(90'000, 'a')}, {"a", ""});
  std::string many = "root ::= ";
  for (int i = 0; i < 4000; ++i) many += cat(i == 0 ? "" : "|", "\"w", i, "x\"");
  const Grammar words = compiled(many);
  EXPECT_TRUE(accepts(words, "w3999x"));
  EXPECT_FALSE(accepts(words, "w4000x"));
  EXPECT_LE(words.size(), 40U);
}

TEST(Gbnf, LocatesErrors) {
  EXPECT_EQ(refusal("root ::= \"a\"\nb ::= \xE2\x82\xAC"),
            "line 2, column 7: expected a literal, a class, a group or the name of a rule");
  EXPECT_EQ(refusal("root ::= \"\xE2\x82\xAC\" foo\n"),
            "line 1, column 14: the rule 'foo' is not defined");
}

TEST(Gbnf, RefusesMalformedTexts) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "no rule named root"},
      {"a ::= \"x\"", "no rule named root"},
      {"root", "expected ::="},
      {"root := \"a\"", "expected ::="},
      {"root ::= \"a", "literal is not closed"},
      {"root ::= [a", "class is not closed"},
      {"root ::= []", "no characters"},
      {"root ::= [z-a]", "wrong order"},
      {"root ::= (\"a\"", "group is not closed"},
      {"root ::= \"a\")", "no group is open"},
      {"root ::= *", "no symbol to repeat"},
      {"root ::= (* \"a\")", "no symbol to repeat"},
      {"root ::= \"a\"{", "expected a count"},
      {"root ::= \"a\"{,3}", "expected a count"},
      {"root ::= \"a\"{1", "expected , or }"},
      {"root ::= \"a\"{3,2}", "wrong order"},
      {"root ::= \"a\"{1000000000}", "at most 100000"},
      {"root ::= \"a\"{99999999999999999999999}", "at most 100000"},
      {"root ::= \"\\q\"", "unknown escape"},
      {"root ::= \"\\x4\"", "2 hexadecimal digits"},
      {"root ::= \"\\ud800\"", "no Unicode character"},
      {"root ::= \"\\U00110000\"", "no Unicode character"},
      {"root ::= \"\xC0\x80\"", "invalid UTF-8"},
      {"root ::= \"a\"\nroot ::= \"b\"", "defined twice"},
      {"root ::= <think>", "tokens"},
      {"root ::= !<[1000]>*", "tokens"},
      {"root ::= \"a\" $", "expected a literal"},
      {"root ::= \"\\", "unknown escape"},
  };
  for (const auto& [text, part] : texts) {
    const std::string message = refusal(text);
    EXPECT_NE(message.find(part), std::string::npos) << text << ": " << message;
  }
}

TEST(Gbnf, RefusesLeftRecursion) {
  EXPECT_NE(refusal("root ::= root \"a\" | \"a\"").find("'root' is left recursive"),
            std::string::npos);
  EXPECT_NE(refusal("root ::= b \"a\"\nb ::= c | \"b\"\nc ::= root \"c\"").find("left recursive"),
            std::string::npos);
  // Hidden behind a part that may match nothing.
  EXPECT_NE(refusal("root ::= \"x\" | e e root \"a\"\ne ::= \"y\"?").find("left recursive"),
            std::string::npos);
  EXPECT_NE(refusal("root ::= (\"x\"* root)+ \"a\"").find("left recursive"), std::string::npos);
  // In a rule that root does not use.
  EXPECT_NE(refusal("root ::= \"x\"\na ::= a").find("left recursive"), std::string::npos);
}

/// X11 of the catalogue of hostile inputs.
TEST(Gbnf, HostileInput) {
  const std::string root = "root ::= ";
  EXPECT_NE(refusal(root + std::string(60'000, '(') + "\"a\"" + std::string(60'000, ')')),
            "accepted");
  EXPECT_NE(refusal(root + std::string(30'000, '(') + "\"a\"" + std::string(30'000, ')'))
                .find("nest deeper"),
            std::string::npos);
  EXPECT_NE(refusal(root + "\"a\"" + std::string(30'000, '*')).find("nest deeper"),
            std::string::npos);
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 5000; ++i) chain += cat("r", i, " ::= r", i + 1, "\n");
  EXPECT_NE(refusal(chain + "r5000 ::= \"a\"\n"), "accepted");
  std::string short_chain = "root::=r0\n";
  for (int i = 0; i < 4500; ++i) short_chain += cat("r", i, "::=\n");
  EXPECT_NE(refusal(short_chain), "accepted");
  EXPECT_NE(refusal("root ::= foo"), "accepted");
  for (const char* empty : {"root ::=", "root ::= \"\"", "root ::= a a\na ::= \"\" | ()"}) {
    EXPECT_EQ(refusal(empty), "allows only the empty text");
  }
  EXPECT_NE(refusal("root ::= \"a\"{0,0}").find("at most 0 times"), std::string::npos);
  EXPECT_NE(refusal("root ::= (\"\"*)*").find("only the empty text"), std::string::npos);
}

TEST(Gbnf, DoublingRulesStayWithinTheBudget) {
  // Written out, r0 has 2^60 characters.
  std::string doubling = "root ::= r0\n";
  for (int i = 0; i < 60; ++i) doubling += cat("r", i, " ::= r", i + 1, " r", i + 1, "\n");
  doubling += "r60 ::= \"a\" | \"b\"\n";
  const Grammar grammar = compiled(doubling);
  EXPECT_LE(grammar.size(), 2000U);
  // Nullable parts: without care, their sequence takes quadratic work.
  std::string optional = "root ::= (";
  for (int i = 0; i < 10'000; ++i) optional += "a? ";
  EXPECT_LE(compiled(optional + ")*\na ::= \"(\" a \")\" | \"x\"").size(), 100'000U);
}

TEST(Gbnf, CompilesEveryGrammarOfLlamaCpp) {
  INGOT_NEEDS_SHARED("data/llama.cpp/grammars");
  int count = 0;
  for (const auto& path : shared_entries("data/llama.cpp/grammars")) {
    if (path.extension() != ".gbnf") continue;
    SCOPED_TRACE(path.string());
    EXPECT_NO_THROW(compiled(File(path.string()).read_all(1 << 20)));
    ++count;
  }
  EXPECT_GE(count, 1);
}

Grammar llama_grammar(std::string_view name) {
  const auto path = shared_folder("data/llama.cpp/grammars") / name;
  if (!std::filesystem::exists(path)) return {};
  return compiled(File(path.string()).read_all(1 << 20));
}

TEST(Gbnf, GrammarsOfLlamaCppAllowTheirTexts) {
  const Grammar json = llama_grammar("json.gbnf");
  if (json.size() == 0) GTEST_SKIP();
  EXPECT_TRUE(accepts(json, R"({"a": [1, -2.5e+1, true, {"b\u0041": null}], "c": ""} )"));
  EXPECT_FALSE(accepts(json, R"({"a": [1,}])"));
  EXPECT_FALSE(accepts(json, R"([1])"));
  const Grammar chess = llama_grammar("chess.gbnf");
  EXPECT_TRUE(accepts(chess, "1. e4 e5\n2. Nf3 Nc6\n3. O-O exd8=Q+\n"));
  EXPECT_FALSE(accepts(chess, "1. e4 e5\n"));
  const Grammar arithmetic = llama_grammar("arithmetic.gbnf");
  EXPECT_TRUE(accepts(arithmetic, "(1+x)*2=3\ny= (z)\n"));
  EXPECT_FALSE(accepts(arithmetic, "1+=3\n"));
  const Grammar c = llama_grammar("c.gbnf");
  EXPECT_TRUE(accepts(c, "int main(){return 1+f(2)*-x;while(a<b){b = ( c );}}"));
  EXPECT_FALSE(accepts(c, "int main(){return}"));
}

}  // namespace
}  // namespace ingot
