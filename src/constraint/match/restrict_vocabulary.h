// restrict_vocabulary: removes the texts of a grammar that a vocabulary cannot spell.
#pragma once

#include "constraint/compile_budget.h"
#include "constraint/grammar.h"
#include "constraint/token_trie.h"

namespace ingot::match {

/// Which characters a JSON string can have.
struct TypableChars {
  bool has_wide = true;     ///< all characters beyond ASCII, without escapes
  bool has_escapes = true;  ///< all characters, as \u0000
};

/// Restricts a grammar to the texts that a vocabulary's single bytes can spell. Does nothing if it
/// has all bytes of UTF-8. Where only some bytes beyond ASCII are there, strings have no wide
/// characters without escapes.
TypableChars restrict_vocabulary(Grammar& grammar, const TokenTrie& trie, CompileBudget& budget);

}  // namespace ingot::match
