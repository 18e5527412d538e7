// Tokens at the ids that files name for them, in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The tokens of a vocabulary under construction. Holds views: the texts must outlive it.
class TokenIds {
 public:
  TokenIds() = default;
  /// Begins with the tokens that a description has.
  explicit TokenIds(const TokenizerData& data);

  void add(std::string_view text, std::int64_t id) { entries_.push_back({text, id}); }

  /// Sorts what was added; `find` and `fill` need it. The same text with the same id may be there
  /// several times.
  ///
  /// Cost:    O(n log n).
  /// Errors:  returns what is wrong: an id out of range, two texts for an id, two ids for a text.
  [[nodiscard]] std::optional<std::string> index();

  /// The id of a text, or nothing.
  std::optional<std::int32_t> find(std::string_view text) const;

  /// Makes these the description's tokens. An id without one is unused; what the description says
  /// of types and scores stays, a token that is new to it is normal.
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
/// Errors:  as of TokenIds::index.
[[nodiscard]] std::optional<std::string> place_added_tokens(TokenizerData& data);

}  // namespace ingot
