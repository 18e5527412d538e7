// Tests of GBNF: which texts its grammars allow, and which grammars are refused.
#include "constraint/gbnf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>
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

/// A random grammar over a and b, and the texts of each rule by another method: sets of all texts
/// with at most kLengthMax bytes, from the rules' definitions.
class RandomRules {
 public:
  static constexpr std::size_t kLengthMax = 5;
  using Texts = std::set<std::string>;

  explicit RandomRules(unsigned seed) : random_(seed) {
    for (std::size_t r = 0; r < kRules; ++r) {
      rules_.push_back(make(3));
      gbnf_ += cat(name(r), " ::= ", write(rules_.back()), "\n");
    }
  }

  const std::string& gbnf() const { return gbnf_; }

  /// Returns the texts of the first rule.
  Texts texts() {
    std::vector<Texts> texts(kRules);
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (std::size_t r = 0; r < kRules; ++r) {
        Texts found = texts_of(rules_[r], texts);
        has_grown = has_grown || found.size() > texts[r].size();
        texts[r] = std::move(found);
      }
    }
    return texts[0];
  }

 private:
  enum class Kind { kText, kRule, kSequence, kChoice, kRepeat };
  static constexpr std::size_t kRules = 3;
  struct Tree {
    Kind kind = Kind::kText;
    std::string text{};
    std::size_t rule = 0;
    std::vector<Tree> children{};
    std::size_t low = 0, high = 0;
  };

  static std::string name(std::size_t rule) { return rule == 0 ? "root" : cat("r", rule); }
  std::size_t pick(std::size_t count) { return random_() % count; }

  Tree make(int depth) {
    const std::size_t kind = pick(depth == 0 ? 3 : 6);
    if (kind <= 1) {
      constexpr const char* kTexts[] = {"a", "b", "ab", "ba", ""};
      return {.kind = Kind::kText, .text = kTexts[pick(5)]};
    }
    if (kind == 2) return {.kind = Kind::kRule, .rule = pick(kRules)};
    Tree tree{.kind = kind == 3 ? Kind::kSequence : kind == 4 ? Kind::kChoice : Kind::kRepeat};
    const std::size_t children = kind == 5 ? 1 : 1 + pick(3);
    for (std::size_t i = 0; i < children; ++i) tree.children.push_back(make(depth - 1));
    tree.low = pick(3);
    tree.high = pick(2) == 0 ? kLengthMax + 3 : tree.low + 1 + pick(2);
    return tree;
  }

  static std::string write(const Tree& tree) {
    if (tree.kind == Kind::kText) return cat("\"", tree.text, "\"");
    if (tree.kind == Kind::kRule) return name(tree.rule);
    std::string out = "(";
    for (std::size_t i = 0; i < tree.children.size(); ++i) {
      if (i > 0) out += tree.kind == Kind::kChoice ? " | " : " ";
      out += write(tree.children[i]);
    }
    out += ")";
    if (tree.kind != Kind::kRepeat) return out;
    return tree.high > kLengthMax ? cat(out, "{", tree.low, ",}")
                                  : cat(out, "{", tree.low, ",", tree.high, "}");
  }

  static Texts joined(const Texts& first, const Texts& second) {
    Texts out;
    for (const std::string& a : first) {
      for (const std::string& b : second) {
        if (a.size() + b.size() <= kLengthMax) out.insert(a + b);
      }
    }
    return out;
  }

  static Texts texts_of(const Tree& tree, const std::vector<Texts>& rules) {
    if (tree.kind == Kind::kText) return {tree.text};
    if (tree.kind == Kind::kRule) return rules[tree.rule];
    Texts out;
    if (tree.kind == Kind::kChoice) {
      for (const Tree& child : tree.children) out.merge(texts_of(child, rules));
      return out;
    }
    Texts power = {""};
    if (tree.kind == Kind::kSequence) {
      for (const Tree& child : tree.children) power = joined(power, texts_of(child, rules));
      return power;
    }
    const Texts part = texts_of(tree.children[0], rules);
    for (std::size_t count = 0; count <= tree.high; ++count) {
      if (count >= tree.low) out.insert(power.begin(), power.end());
      power = joined(power, part);
    }
    return out;
  }

  std::mt19937 random_;
  std::vector<Tree> rules_;
  std::string gbnf_;
};

TEST(Gbnf, RandomGrammarsAllowTheTextsOfTheirDefinitions) {
  int compiled_count = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomRules random(seed);
    const RandomRules::Texts expected = random.texts();
    Grammar grammar;
    try {
      grammar = compiled(random.gbnf());
    } catch (const Error& error) {
      const std::string& message = error.message();
      EXPECT_TRUE(message.find("left recursive") != message.npos ||
                  message.find("only the empty text") != message.npos)
          << random.gbnf() << message;
      continue;
    }
    ++compiled_count;
    std::vector<std::string> texts = {""};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(accepts(grammar, texts[i]), expected.count(texts[i]) > 0)
          << random.gbnf() << texts[i];
      if (texts[i].size() == RandomRules::kLengthMax) continue;
      texts.push_back(texts[i] + "a");
      texts.push_back(texts[i] + "b");
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(compiled_count, 500);
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

TEST(Gbnf, CompilesTheExamplesOfLlamaCppsGuide) {
  const auto path = shared_folder("data/llama.cpp/grammars") / "README.md";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const std::string guide = File(path.string()).read_all(1 << 20);
  int count = 0;
  const std::string fence = "\n```\n";
  for (std::size_t at = guide.find(fence); at != guide.npos; at = guide.find(fence, at + 1)) {
    const std::size_t begin = at + fence.size();
    const std::string block = guide.substr(begin, guide.find("\n```", begin) - begin);
    const bool is_whole = block.find("root ::=") != block.npos && block.find("...") == block.npos;
    if (!is_whole || block.find("<think>") != block.npos) continue;
    EXPECT_NO_THROW(compiled(block)) << block;
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
  if (json.size() == 0) GTEST_SKIP() << "no json.gbnf";
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
