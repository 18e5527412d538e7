// Makes a pattern's automaton deterministic: subset construction with assertions and lookarounds.
#pragma once

#include <vector>

#include "constraint/language/pattern_nfa.h"
#include "constraint/language/text_dfa.h"

namespace ingot {

/// The character before the place where a part of a pattern begins to match.
enum class LeftContext : std::int32_t {
  kTextStart,
  kWord,   ///< a character of \w
  kOther,  ///< another character
};

/// A nondeterministic automaton with what its assertions refer to.
struct PatternPart {
  const PatternTree& tree;
  const PatternNfa& nfa;
  /// True: the match may end anywhere. False: at the end of the text.
  bool ends_anywhere = false;
  /// Whether contexts inside of the part or of its lookaheads tell kWord from kOther.
  bool needs_words = false;
  LeftContext left = LeftContext::kTextStart;
  /// [3 * lookarounds] For a lookahead i, language 3 * i + c holds the rests of texts at which it
  /// holds in context c. For a lookbehind i, language 3 * i holds the texts at whose end its
  /// content matches.
  std::vector<TextDfa> languages{};
};

/// Returns the texts that the part matches from their start.
///
/// Errors: those of TextDfa.
TextDfa make_deterministic(const PatternPart& part, CompileBudget& budget);

}  // namespace ingot
