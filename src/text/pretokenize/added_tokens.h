// Tokens that are found in a text before anything else happens to it, with their rules about what
// stands beside them.
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
  /// The tokens' contents as they are looked for; of equal ones the smallest id stays.
  explicit AddedTokens(std::span<const AddedToken> tokens);

  bool empty() const { return trie_.empty(); }

 private:
  friend class AddedTokenFinder;
  enum Rule : std::uint8_t { kSingleWord = 1, kStripLeft = 2, kStripRight = 4 };

  PieceTrie trie_;  // finds indices into the two below
  std::vector<std::int32_t> ids_;
  std::vector<std::uint8_t> rules_;
};

/// Finds a set's tokens in one text: leftmost and longest, as Hugging Face's tokenizers do. A token
/// that must be a single word and is none hides what overlaps it. Set and text must outlive it.
///
/// Cost:    linear in the text, whatever the tokens and their rules.
/// Source:  tokenizers, added_vocabulary.rs.
class AddedTokenFinder {
 public:
  AddedTokenFinder(const AddedTokens& tokens, std::string_view text)
      : tokens_(tokens), text_(text) {
    search_within(0, text.size());
  }

  /// From here on finds tokens that stand whole in [begin, end), as if there were no text around
  /// it; their rules see the whole text. Calls come with growing places.
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
  /// The next token where it is searched. What lies between the end of the last one and its
  /// beginning is ordinary text. A token of white space may begin, and end, before the end of the
  /// last one, which took it along.
  Match next();

 private:
  std::size_t spaces_begin(std::size_t end) const;
  std::size_t spaces_end(std::size_t begin);

  const AddedTokens& tokens_;
  std::string_view text_;
  std::optional<PieceFinder> finder_;
  std::size_t at_ = 0;         // where the search goes on
  std::size_t last_end_ = 0;   // of the last match, with its white space
  std::size_t run_begin_ = 0;  // white space that was passed already
  std::size_t run_end_ = 0;
};

}  // namespace ingot
