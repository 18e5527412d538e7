// WordPiece tokenizer (BERT): cuts a word into the longest pieces, from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer/prefix_trie.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A token model. Some of its pieces begin a word, others continue a word. Immutable.
///
/// Source:  BERT's tokenization.py.
class WordPiece final : public TokenModel {
 public:
  struct Settings {
    std::int32_t unknown = -1;
    std::size_t word_chars_max = 100;  ///< limit on a word's characters; a longer word is `unknown`
  };
  /// `continuing` has the pieces that continue a word, without the prefix "##" of the vocabulary.
  WordPiece(std::vector<TrieEntry> beginning, std::vector<TrieEntry> continuing,
            const Settings& settings);

  /// Appends the tokens of one word, or only the unknown token if a part of the word has no piece.
  ///
  /// Cost:    O(word_chars_max) searches, each of at most one step per byte of the longest piece.
  void encode(std::string_view word, ModelScratch&, std::vector<std::int32_t>& ids) const override;
  bool is_complete() const override { return false; }

 private:
  PrefixTrie beginning_;
  PrefixTrie continuing_;
  Settings settings_;
};

}  // namespace ingot
