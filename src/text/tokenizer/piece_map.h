// Finding a token by its piece: a hash table over a StringTable that a hostile vocabulary cannot
// degrade.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Maps pieces to their ids. Holds no text itself: the table of pieces must outlive it and not
/// change.
class PieceMap {
 public:
  /// An empty map with room for `count` of the pieces.
  PieceMap(const StringTable& pieces, std::size_t count);

  /// Adds piece `id`; of equal pieces the first that was added stays.
  void insert(std::int32_t id);

  /// The id of `piece`, or -1.
  std::int32_t find(std::string_view piece) const;

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t id = -1;
  };
  /// The slot that holds `piece`, or the empty one where it would go.
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const;

  const StringTable* pieces_;
  std::vector<Slot> slots_;  // a power of two, at most half of them taken
};

}  // namespace ingot
