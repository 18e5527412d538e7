// Added tokens: found in a text before all other steps, with rules about their neighbours.
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

/// A set of added tokens. Immutable.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Equal contents keep the smallest id.
  explicit AddedTokens(std::span<const AddedToken> tokens);

  bool empty() const { return trie_.empty(); }

 private:
  friend class AddedTokenFinder;
  enum Rule : std::uint8_t { kSingleWord = 1, kStripLeft = 2, kStripRight = 4 };

  PieceTrie trie_;  // finds indices into the two below
  std::vector<std::int32_t> ids_;
  std::vector<std::uint8_t> rules_;
};

/// Finds a set's tokens in one text: leftmost and longest, as Hugging Face's tokenizers do. A
/// match that should be a single word but is part of one hides the tokens that overlap it. Set and
/// text must outlive the finder.
///
/// Cost:    linear in the text for any tokens and rules.
/// Source:  tokenizers, added_vocabulary.rs.
class AddedTokenFinder {
 public:
  AddedTokenFinder(const AddedTokens& tokens, std::string_view text)
      : tokens_(tokens), text_(text) {
    search_within(0, text.size());
  }

  /// Limits the search to tokens that lie whole in [begin, end). Their rules see the whole text.
  /// Later calls have larger ranges.
  void search_within(std::size_t begin, std::size_t end) {
    finder_.emplace(tokens_.trie_, text_.substr(0, end));
    at_ = begin;
  }

  struct Match {
    std::int32_t id = -1;  ///< -1: no more tokens
    std::size_t begin =
        0;  ///< with the white space that it takes along; the text's size at the end
    std::size_t end = 0;
  };
  /// The next token in the range. The bytes between two tokens are ordinary text. A token of white
  /// space may begin and end inside the previous one, which took that space along.
  Match next();

 private:
  std::size_t spaces_begin(std::size_t end) const;
  std::size_t spaces_end(std::size_t begin);

  const AddedTokens& tokens_;
  std::string_view text_;
  std::optional<PieceFinder> finder_;
  std::size_t at_ = 0;         // where the search continues
  std::size_t last_end_ = 0;   // end of the last match with its white space
  std::size_t run_begin_ = 0;  // white space that was passed already
  std::size_t run_end_ = 0;
};

}  // namespace ingot
