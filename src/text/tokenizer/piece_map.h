// PieceMap: finds a token by its piece, in a hash table that a hostile vocabulary cannot slow down.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Maps pieces to their ids. It holds no text: the table of pieces must outlive it unchanged.
class PieceMap {
 public:
  /// An empty map with room for `count` of the pieces.
  PieceMap(const StringTable& pieces, std::size_t count);

  /// Adds piece `id`; the first of equal pieces stays.
  void insert(std::int32_t id);

  /// The id of `piece`, or -1.
  std::int32_t find(std::string_view piece) const;

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t id = -1;
  };
  /// The slot of `piece`, or the empty slot for it.
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const;

  const StringTable* pieces_;
  std::vector<Slot> slots_;  // a power of two, at most half of them taken
};

}  // namespace ingot
