// Constraints for engines on random models of 37 tokens.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/constraint.h"
#include "runtime/request.h"

namespace ingot::testing_support {

/// Texts of the 37 tokens: letters, digits up to 8 and "ab". The last token is no text, and the
/// end token of constrained requests.
inline constexpr std::int32_t kWordIds = 37;
inline constexpr std::int32_t kWordsEnd = 36;
inline std::string word_piece(std::int32_t id) {
  if (id < 26) return {static_cast<char>('a' + id)};
  return id < 35 ? std::string{static_cast<char>('0' + (id - 26))} : id == 35 ? "ab" : "";
}

inline std::string word_text(const std::vector<std::int32_t>& ids) {
  std::string text;
  for (const std::int32_t id : ids) text += word_piece(id);
  return text;
}

inline std::shared_ptr<const TokenTrie> word_trie() {
  static const auto trie = std::make_shared<const TokenTrie>(kWordIds, [](std::int32_t id) {
    static std::string piece;
    piece = word_piece(id);
    return TokenTrie::Token{.bytes = piece,
                            .use = id == kWordsEnd ? TokenUse::kNone : TokenUse::kText};
  });
  return trie;
}

/// Makes a constraint of the grammar whose root `add_root` adds.
template <class AddRoot>
std::shared_ptr<const Constraint> make_constraint(
    AddRoot add_root, std::shared_ptr<const TokenTrie> trie = word_trie()) {
  CompileBudget budget;
  Grammar grammar;
  grammar.set_root(add_root(grammar, budget));
  return ingot::make_constraint(std::move(grammar), {}, std::move(trie), budget);
}

inline std::shared_ptr<const Constraint> literal_constraint(std::string_view text) {
  return make_constraint(
      [&](Grammar& g, CompileBudget& budget) { return g.literal(text, budget); });
}

/// Words of the constraint below. After some letters one token fits, after others several.
inline const std::vector<std::string> kWords{"abc", "abcd", "hello", "x0", "x1", "x11", "7"};

/// Two to eight words with "z" between.
inline std::shared_ptr<const Constraint> words_constraint() {
  static const auto constraint = make_constraint([](Grammar& g, CompileBudget& budget) {
    const NodeId word = g.terminal(TextDfa::any_of(kWords, budget));
    return g.add(grammar::Repeat{
        .part = word, .count_min = 2, .count_max = 8, .separator = g.literal("z", budget)});
  });
  return constraint;
}

/// Whether a text is complete by words_constraint, or begins such a text.
enum class WordsFit { kNo, kBegin, kComplete };
inline WordsFit fit_of(std::string_view text) {
  std::size_t words = 1;
  for (std::size_t z = text.find('z'); z != std::string_view::npos; z = text.find('z'), ++words) {
    if (std::find(kWords.begin(), kWords.end(), text.substr(0, z)) == kWords.end()) {
      return WordsFit::kNo;
    }
    text.remove_prefix(z + 1);
  }
  if (words > 8) return WordsFit::kNo;
  const auto begins = [&](const std::string& word) { return word.starts_with(text); };
  if (std::none_of(kWords.begin(), kWords.end(), begins)) return WordsFit::kNo;
  const bool is_word = std::find(kWords.begin(), kWords.end(), text) != kWords.end();
  return is_word && words >= 2 ? WordsFit::kComplete : WordsFit::kBegin;
}

/// Gives a request words_constraint. Removes fields that have no meaning beside it.
inline void constrain(Request& request) {
  request.constraint = words_constraint();
  request.sampling.allowed_token_ids.clear();
  request.sampling.bad_words.clear();
  request.sampling.end_ids.push_back(kWordsEnd);
}

}  // namespace ingot::testing_support
