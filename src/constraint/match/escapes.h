// escapes_at: how characters of a JSON string may be written where a language restricts them.
#pragma once

#include <cstdint>

#include "constraint/language/text_dfa.h"
#include "constraint/match/chars.h"
#include "constraint/token_trie.h"

namespace ingot::match {

/// How the characters of a declared name may be written. A model that wants another character than
/// the name's would often choose a needless escape of the right one.
inline Escapes escapes_of_names(const TokenTrie& trie) {
  return trie.has_printable() ? Escapes::kNeeded : Escapes::kAll;
}

/// How the next character behind a state of a language may be written; null is every text.
inline Escapes escapes_at(const TokenTrie& trie, const TextDfa* language, std::int32_t state) {
  const bool is_free = language == nullptr || language->is_unrestricted(state);
  return is_free ? Escapes::kAll : escapes_of_names(trie);
}

}  // namespace ingot::match
