// TokenIds: collects tokens and their ids in any order, and checks for contradictions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Builds a vocabulary. The tokens' texts must outlive this object, which holds views of them.
class TokenIds {
 public:
  TokenIds() = default;
  /// Starts with the tokens of `data`.
  explicit TokenIds(const TokenizerData& data);

  void add(std::string_view text, std::int64_t id) { entries_.push_back({text, id}); }

  /// Sorts the tokens for `find` and `fill`. A token may be added twice if both ids are equal.
  ///
  /// Cost:    O(n log n).
  /// Errors:  returned as text: an id out of range, two texts for one id, two ids for one text.
  [[nodiscard]] std::optional<std::string> index();

  /// Returns the id of the token with this text, or nothing.
  std::optional<std::int32_t> find(std::string_view text) const;

  /// Sets the tokens of `data`. Old tokens keep their types and scores. A new token gets the type
  /// kNormal; an id without a token gets the type kUnused.
  void fill(TokenizerData& data) const;

 private:
  struct Entry {
    std::string_view text;
    std::int64_t id = 0;
  };
  std::vector<Entry> entries_;        // all tokens; `index` sorts them by id
  std::vector<std::size_t> by_text_;  // indices of entries_, sorted by text
};

/// Puts the tokens of `data.added` into the vocabulary of `data`, and sets their types.
///
/// Errors:  returned as text: the errors of TokenIds::index.
[[nodiscard]] std::optional<std::string> place_added_tokens(TokenizerData& data);

}  // namespace ingot
