// MergeTable: a hash table of BPE merges, looked up by the pair of tokens that a merge joins.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/keyed_hash.h"
#include "text/tokenizer/piece_map.h"
#include "text/tokenizer/symbol_merger.h"

namespace ingot {

/// The pairs of tokens that merge, each with its rank and the merged token. Immutable.
class MergeTable {
 public:
  /// Reads the merges of `data`. `ids` finds a token by its text. A merge's rank is its index in
  /// `data`. If a merge occurs twice, the first index counts.
  ///
  /// Errors:  model_error for no merges, too many merges, a merge that is not two pieces with one
  ///          separator, or a merge with a piece or a joined piece that is not a token.
  MergeTable(const TokenizerData& data, const PieceMap& ids);

  /// Returns a pair's rank. Smaller ranks merge first; SymbolMerger::kNever means no merge.
  std::uint32_t rank(std::int32_t left, std::int32_t right) const {
    return slots_[slot_of(pair_of(left, right))].rank;
  }

  /// Merges neighbours in `symbols` until no pair merges. The pair with the smallest rank merges
  /// first. Among pairs with equal ranks, the leftmost merges first.
  ///
  /// Cost:    O(n log n) for n symbols.
  void merge(std::vector<std::int32_t>& symbols, SymbolMerger& merger) const;

  /// Returns the token that the merge with this rank makes.
  std::int32_t merged(std::uint32_t rank) const { return merged_[rank]; }

 private:
  struct Slot {
    std::uint64_t pair = 0;
    std::uint32_t rank = SymbolMerger::kNever;  // rank of the merge; kNever: the slot is empty
  };
  static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  /// Returns the index of the slot that has `pair`, or of the empty slot in which `pair` belongs.
  std::size_t slot_of(std::uint64_t pair) const {
    std::size_t at = hash_word(pair, key_) & (slots_.size() - 1);
    while (slots_[at].rank != SymbolMerger::kNever && slots_[at].pair != pair) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  std::array<std::uint64_t, 2> key_ = hash_key();
  std::vector<Slot> slots_;           // open-addressing hash table: 2^k slots, at most half used
  std::vector<std::int32_t> merged_;  // merged token, by rank
};

}  // namespace ingot
