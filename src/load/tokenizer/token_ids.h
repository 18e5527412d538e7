// TokenIds: collects tokens and their ids in any order, and checks that they agree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// A vocabulary under construction. It holds views: the texts must outlive it.
class TokenIds {
 public:
  TokenIds() = default;
  /// Begins with the tokens of a description.
  explicit TokenIds(const TokenizerData& data);

  void add(std::string_view text, std::int64_t id) { entries_.push_back({text, id}); }

  /// Sorts the tokens for `find` and `fill`. A text may be added several times with one id.
  ///
  /// Cost:    O(n log n).
  /// Errors:  returned as text: an id out of range, two texts for an id, two ids for a text.
  [[nodiscard]] std::optional<std::string> index();

  /// The id of a text, or nothing.
  std::optional<std::int32_t> find(std::string_view text) const;

  /// Makes these the description's tokens. An id without a token is unused. Known types and scores
  /// stay; a new token is normal.
  void fill(TokenizerData& data) const;

 private:
  struct Entry {
    std::string_view text;
    std::int64_t id = 0;
  };
  std::vector<Entry> entries_;        // by id
  std::vector<std::size_t> by_text_;  // places in entries_
};

/// Puts the description's added tokens at their ids and gives those tokens their types.
///
/// Errors:  those of TokenIds::index.
[[nodiscard]] std::optional<std::string> place_added_tokens(TokenizerData& data);

}  // namespace ingot
