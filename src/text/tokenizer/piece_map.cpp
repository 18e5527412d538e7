// PieceMap: a hash table with open addressing. Each slot has 32 bits of the hash, so that few wrong
// pieces are compared.
#include "text/tokenizer/piece_map.h"

#include <bit>

#include "base/check.h"
#include "base/index.h"
#include "text/tokenizer/keyed_hash.h"

namespace ingot {

PieceMap::PieceMap(const StringTable& pieces, std::size_t count)
    : pieces_(&pieces), slots_(std::bit_ceil(2 * count + 2)) {}

std::size_t PieceMap::slot_of(std::string_view piece, std::uint64_t hash) const {
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].id >= 0) {
    if (slots_[at].tag == tag && (*pieces_)[to_size(slots_[at].id)] == piece) break;
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

void PieceMap::insert(std::int32_t id) {
  const auto index = to_size(id);
  INGOT_CHECK(id >= 0 && index < pieces_->size(), "piece ", id, " of ", pieces_->size());
  const std::string_view piece = (*pieces_)[index];
  const std::uint64_t hash = hash_text(piece);
  Slot& slot = slots_[slot_of(piece, hash)];
  if (slot.id < 0) slot = {static_cast<std::uint32_t>(hash >> 32), id};
}

std::int32_t PieceMap::find(std::string_view piece) const {
  return slots_[slot_of(piece, hash_text(piece))].id;
}

}  // namespace ingot
