// Matcher: follows one text through a grammar, token by token, and says which tokens may come next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "constraint/grammar.h"
#include "constraint/token_trie.h"

namespace ingot {

/// A checked grammar with a vocabulary. Immutable: any number of threads can use it.
class MatcherGrammar;

/// Prepares a grammar for matchers. Does no work of the size of the vocabulary.
///
/// Errors: those of `check_grammar`; Error{kInvalid} if the vocabulary lacks bytes without which no
///         text is left.
std::shared_ptr<const MatcherGrammar> make_matcher_grammar(Grammar grammar,
                                                           std::shared_ptr<const TokenTrie> trie,
                                                           CompileBudget& budget);

/// The state of one text. Not thread-safe; copies are independent.
///
/// No dead ends: after every accepted token the text is complete, or `mask` allows a token.
class Matcher {
 public:
  /// Begins an empty text.
  explicit Matcher(std::shared_ptr<const MatcherGrammar> grammar);
  Matcher(const Matcher&);
  Matcher& operator=(const Matcher&);
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  ~Matcher();

  /// Appends a token. Returns false, and changes nothing, if the token is not allowed.
  [[nodiscard]] bool accept(std::int32_t id);
  /// Appends raw bytes as one token, for texts whose tokens are not known. Returns false, and
  /// changes nothing, if they are not allowed.
  [[nodiscard]] bool accept_bytes(std::string_view bytes);
  /// Removes the last `tokens` accepted tokens.
  void truncate(std::int64_t tokens);
  /// Number of accepted tokens.
  std::int64_t tokens() const;
  /// Number of alternatives that all calls so far left out because there were too many: the texts
  /// that may follow are then fewer. 0 for all but the most ambiguous grammars.
  std::int64_t dropped() const;

  /// Returns the vocabulary of the grammar.
  const TokenTrie& trie() const;

  /// Returns the tokens that may come next, one bit for each id: word i / 32, bit i % 32. End
  /// tokens are the caller's: see `is_complete`. Valid until the next call of a function that is
  /// not const.
  ///
  /// Shapes: [TokenTrie::mask_words()].
  std::span<const std::uint32_t> mask();
  /// Returns whether the text may end here.
  bool is_complete() const;
  /// Returns whether the text may continue. If not, it is complete.
  bool may_continue() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ingot
