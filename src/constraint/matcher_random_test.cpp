// Matchers of random small grammars, against a list of all texts and against exhaustive search.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/full_run_test_util.h"
#include "constraint/match/random_grammar_test_util.h"
#include "constraint/matcher.h"

namespace ingot {
namespace {

constexpr std::string_view kBytes = "ab1{}[]\":, ";
constexpr std::size_t kPrefixesMax = 1200;

/// All bytes, and random short texts of the alphabet.
std::shared_ptr<const TokenTrie> make_trie() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    std::string token;
    for (unsigned size = 2 + random() % 4; size > 0; --size) {
      token += kBytes[random() % kBytes.size()];
    }
    tokens.push_back(token);
  }
  for (const char* text :
       {"\"a\":", "\",\"", "\":\"", "\"]", "{\"", "\\u00", "61", "\\\"", "\xC3"}) {
    tokens.emplace_back(text);
  }
  return std::make_shared<const TokenTrie>(
      static_cast<std::int32_t>(tokens.size()), [&](std::int32_t id) {
        return TokenTrie::Token{tokens[static_cast<std::size_t>(id)], TokenUse::kText};
      });
}

std::shared_ptr<const TokenTrie> trie() {
  static const auto made = make_trie();
  return made;
}

/// The prefixes that a matcher takes, breadth first, up to a number of them.
struct Explored {
  std::vector<std::string> prefixes;
  std::set<std::string> complete;
  std::size_t bytes_max = 0;  // all prefixes up to this length are there
};

Matcher at_prefix(const std::shared_ptr<const MatcherGrammar>& grammar, const std::string& text) {
  Matcher matcher(grammar);
  for (const char byte : text) EXPECT_TRUE(matcher.accept_bytes({&byte, 1})) << text;
  return matcher;
}

Explored explore(const std::shared_ptr<const MatcherGrammar>& grammar) {
  Explored found;
  std::vector<std::string> level{""};
  for (std::size_t length = 0; !level.empty(); ++length) {
    std::vector<std::string> next;
    for (const std::string& text : level) {
      found.prefixes.push_back(text);
      Matcher matcher = at_prefix(grammar, text);
      if (matcher.is_complete()) found.complete.insert(text);
      bool goes_on = false;
      for (const char byte : kBytes) {
        if (!matcher.accept_bytes({&byte, 1})) continue;
        goes_on = true;
        next.push_back(text + byte);
        matcher.truncate(1);
        EXPECT_EQ(matcher.tokens(), static_cast<std::int64_t>(length));
      }
      EXPECT_TRUE(goes_on || matcher.is_complete()) << "dead end behind " << text;
      EXPECT_EQ(goes_on, matcher.may_continue()) << text;
    }
    found.bytes_max = length;
    if (found.prefixes.size() + next.size() > kPrefixesMax) return found;
    level = std::move(next);
  }
  found.bytes_max = 1000;
  return found;
}

/// Finds any end of a text by breadth-first search; false if there is none near.
bool can_finish(const std::shared_ptr<const MatcherGrammar>& grammar, const std::string& prefix) {
  std::vector<std::string> open{prefix};
  for (std::size_t i = 0; i < open.size() && open.size() < 4000; ++i) {
    Matcher matcher = at_prefix(grammar, open[i]);
    if (matcher.is_complete()) return true;
    const std::string text = open[i];
    // Closing bytes come first, because they end most texts soon.
    for (const char byte : std::string_view("\"]}:,{[ab1")) {
      if (!matcher.accept_bytes({&byte, 1})) continue;
      matcher.truncate(1);
      open.push_back(text + byte);
    }
  }
  return open.size() >= 4000;  // not decided
}

std::optional<std::shared_ptr<const MatcherGrammar>> make(unsigned seed, bool is_free,
                                                          std::string& refusal) {
  CompileBudget budget;
  try {
    return make_matcher_grammar(RandomGrammar(seed, is_free).make(budget), trie(), budget);
  } catch (const Error& error) {
    refusal = error.message();
    return std::nullopt;
  }
}

void compare_texts(unsigned seed, const Explored& explored) {
  CompileBudget budget;
  const Grammar grammar = RandomGrammar(seed, false).make(budget);
  const int bytes_max = static_cast<int>(std::min<std::size_t>(explored.bytes_max, 14));
  TextLister lister(grammar);
  const auto& listed = lister.list(grammar.root(), bytes_max);
  for (const std::string& text : listed) {
    EXPECT_TRUE(explored.complete.contains(text)) << "seed " << seed << " refuses " << text;
  }
  for (const std::string& text : explored.complete) {
    // The lister knows pieces of up to four characters.
    bool is_listed = static_cast<int>(text.size()) <= bytes_max;
    std::size_t run = 0;
    for (const char c : text) {
      run = c == 'a' || c == 'b' || c == '1' ? run + 1 : 0;
      is_listed = is_listed && run <= 4;
    }
    if (!is_listed) continue;
    EXPECT_TRUE(listed.contains(text)) << "seed " << seed << " takes " << text;
  }
}

void compare_masks(const std::shared_ptr<const MatcherGrammar>& grammar, const Explored& explored,
                   unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < 6; ++i) {
    const std::string& prefix = explored.prefixes[random() % explored.prefixes.size()];
    Matcher matcher = at_prefix(grammar, prefix);
    const auto span = matcher.mask();
    const std::vector<std::uint32_t> mask(span.begin(), span.end());
    for (std::int32_t id = 0; id < trie()->ids(); ++id) {
      const bool is_allowed = (mask[static_cast<std::size_t>(id) / 32] >> (id % 32) & 1) != 0;
      const bool is_taken = matcher.accept(id);
      if (is_taken) matcher.truncate(1);
      EXPECT_EQ(is_allowed, is_taken)
          << "seed " << seed << ": " << prefix << " + " << trie()->bytes(id);
    }
  }
}

TEST(MatcherRandom, TakesTheTextsOfTheGrammarAndNoOthersWithoutDeadEnds) {
  const auto seeds = static_cast<unsigned>(random_runs(150, 600, 50));
  int made = 0;
  for (unsigned i = 0; i < 2 * seeds && !HasFailure(); ++i) {
    const unsigned seed = i / 2;
    const bool is_free = i % 2 != 0;
    std::string refusal;
    const auto grammar = make(seed, is_free, refusal);
    if (!grammar.has_value()) {
      if (refusal != "allows no text") continue;
      CompileBudget budget;
      const Grammar empty = RandomGrammar(seed, is_free).make(budget);
      EXPECT_TRUE(TextLister(empty).list(empty.root(), 7).empty()) << "seed " << seed;
      continue;
    }
    ++made;
    const Explored explored = explore(*grammar);
    if (!is_free) compare_texts(seed, explored);
    compare_masks(*grammar, explored, seed);
    const std::string& last = explored.prefixes.back();
    EXPECT_TRUE(can_finish(*grammar, last)) << "seed " << seed << ": " << last;
  }
  EXPECT_GT(made, static_cast<int>(seeds) / 2);
}

}  // namespace
}  // namespace ingot
