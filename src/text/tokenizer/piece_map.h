// PieceMap: finds a token's id by its text, in a hash table that hostile files cannot slow down.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Maps pieces to ids. It holds no text: `pieces` must outlive the map unchanged.
class PieceMap {
 public:
  /// An empty map with room for `count` entries of `pieces`.
  PieceMap(const StringTable& pieces, std::size_t count);

  /// Adds the piece of `id`. Changes nothing if the map has an equal piece.
  void insert(std::int32_t id);

  /// The id of `piece`; -1 if the map does not have it.
  std::int32_t find(std::string_view piece) const;

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t id = -1;
  };
  /// The slot that holds `piece`, or the empty slot in which `piece` belongs.
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const;

  const StringTable* pieces_;
  std::vector<Slot> slots_;  // open addressing; size is a power of two, at most half full
};

}  // namespace ingot
