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

/// A set of added tokens to search for. Immutable.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// If tokens have equal contents, the token with the smallest id is used.
  explicit AddedTokens(std::span<const AddedToken> tokens);

  bool empty() const { return trie_.empty(); }

 private:
  friend class AddedTokenFinder;
  struct Rules {
    std::int32_t id = -1;
    bool single_word = false, lstrip = false, rstrip = false;
  };

  PieceTrie trie_;  // finds indices into rules_
  std::vector<Rules> rules_;
};

/// Finds added tokens in one text: each time the leftmost token, and the longest if several begin
/// there, as in Hugging Face's tokenizers. A single-word token inside a longer word is no match,
/// but hides tokens that overlap it. Set and text must outlive the finder.
///
/// Cost:    linear in the text, for any set of tokens.
/// Source:  tokenizers, added_vocabulary.rs.
class AddedTokenFinder {
 public:
  AddedTokenFinder(const AddedTokens& tokens, std::string_view text)
      : tokens_(tokens), text_(text) {
    search_within(0, text.size());
  }

  /// Limits the search to tokens that lie inside [begin, end). The characters around them may lie
  /// outside. Successive ranges must move forward in the text.
  void search_within(std::size_t begin, std::size_t end) {
    finder_.emplace(tokens_.trie_, text_.substr(0, end));
    at_ = begin;
  }

  struct Match {
    std::int32_t id = -1;  ///< -1: no more tokens
    /// Start, with white space that the token strips. The text's size if there are no more tokens.
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// The next token in the range. The bytes between two tokens are ordinary text. A token of white
  /// space may lie inside the white space that the previous token stripped.
  Match next();

 private:
  std::size_t spaces_begin(std::size_t end) const;
  std::size_t spaces_end(std::size_t begin);

  const AddedTokens& tokens_;
  std::string_view text_;
  std::optional<PieceFinder> finder_;
  std::size_t at_ = 0;         // where the search continues
  std::size_t last_end_ = 0;   // Match::end of the last match
  std::size_t run_begin_ = 0;  // the last run of white space that spaces_end() found
  std::size_t run_end_ = 0;
};

}  // namespace ingot
