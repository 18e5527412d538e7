// Finds added tokens (such as <|im_start|>) in a text before it is tokenized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/piece_trie.h"

namespace ingot {

/// A set of added tokens that an AddedTokenFinder searches for. Immutable.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Builds the set. If several tokens have equal contents, the smallest id wins.
  explicit AddedTokens(std::span<const AddedToken> tokens);

  bool empty() const { return trie_.empty(); }

 private:
  friend class AddedTokenFinder;
  struct Rules {
    std::int32_t id = -1;
    bool single_word = false, lstrip = false, rstrip = false;
  };

  PieceTrie trie_;  // finds tokens in a text; its ids are indices into rules_
  std::vector<Rules> rules_;
};

/// Finds added tokens in one text from left to right, as Hugging Face's tokenizers do. If several
/// tokens begin at one place, the longest matches. A single-word token inside a longer word does
/// not match, but the search skips its bytes. The set and the text must outlive the finder.
///
/// Cost:    linear in the text, for any set of tokens.
/// Source:  tokenizers, added_vocabulary.rs.
class AddedTokenFinder {
 public:
  AddedTokenFinder(const AddedTokens& tokens, std::string_view text)
      : tokens_(tokens), text_(text) {
    search_within(0, text.size());
  }

  /// Limits the search to tokens inside bytes [begin, end) of the text. A token's rules may still
  /// look at characters outside the range. Each range must lie behind the previous call's range.
  void search_within(std::size_t begin, std::size_t end) {
    finder_.emplace(tokens_.trie_, text_.substr(0, end));
    at_ = begin;
  }

  struct Match {
    std::int32_t id = -1;  ///< id of the token; -1: there are no more tokens
    /// First byte of the token or of white space that it strips. If `id` is -1: the text's size.
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// Returns the next token in the range. The bytes between two matches are ordinary text. A token
  /// that consists of white space may lie inside white space that the previous token stripped.
  Match next();

 private:
  std::size_t spaces_begin(std::size_t end) const;
  std::size_t spaces_end(std::size_t begin);

  const AddedTokens& tokens_;
  std::string_view text_;
  std::optional<PieceFinder> finder_;
  std::size_t at_ = 0;         // byte at which the search continues
  std::size_t last_end_ = 0;   // `end` of the last match
  std::size_t run_begin_ = 0;  // start of the last run of white space that spaces_end() found
  std::size_t run_end_ = 0;
};

}  // namespace ingot
