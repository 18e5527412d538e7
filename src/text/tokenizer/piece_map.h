// PieceMap: finds a token's id by its text, in a hash table that hostile files cannot slow down.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Maps pieces to ids. The map copies no text: its StringTable must stay alive and unchanged.
class PieceMap {
 public:
  /// Makes an empty map with room for `count` entries of `pieces`.
  PieceMap(const StringTable& pieces, std::size_t count);

  /// Adds the piece with this id. Changes nothing if the map already has an equal piece.
  void insert(std::int32_t id);

  /// Returns the id of `piece`; -1 if the map does not have the piece.
  std::int32_t find(std::string_view piece) const;

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t id = -1;
  };
  /// Returns the index of the slot with `piece`, or of the empty slot in which `piece` belongs.
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const;

  const StringTable* pieces_;
  std::vector<Slot> slots_;  // open-addressing hash table: 2^k slots, at most half used
};

}  // namespace ingot
