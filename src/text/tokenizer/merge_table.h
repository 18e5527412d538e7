// MergeTable: BPE merges, found by the pair of tokens that they join.
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

/// The pairs of tokens that merge, with rank and result. Immutable.
class MergeTable {
 public:
  /// Reads the merges of a file; `ids` finds tokens by their text in the file. The first of equal
  /// merges counts.
  ///
  /// Errors:  model_error for no merges, too many, a merge that is not two pieces with a space
  ///          between, or pieces (either one or the joined one) that are not tokens.
  MergeTable(const TokenizerData& data, const PieceMap& ids);

  /// The rank of a pair; SymbolMerger::kNever when it never merges.
  std::uint32_t rank(std::int32_t left, std::int32_t right) const {
    return slots_[slot_of(pair_of(left, right))].rank;
  }

  /// Merges neighbours in `symbols` until no pair can be merged, the best pair first and the
  /// leftmost of equals.
  ///
  /// Cost:    O(n log n) for n symbols.
  void merge(std::vector<std::int32_t>& symbols, SymbolMerger& merger) const;

  /// The token that the merge of a rank makes.
  std::int32_t merged(std::uint32_t rank) const { return merged_[rank]; }

 private:
  struct Slot {
    std::uint64_t pair = 0;
    std::uint32_t rank = SymbolMerger::kNever;  // kNever: the slot is empty
  };
  static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  /// The slot of a pair, or the empty slot for it.
  std::size_t slot_of(std::uint64_t pair) const {
    std::size_t at = hash_word(pair, key_) & (slots_.size() - 1);
    while (slots_[at].rank != SymbolMerger::kNever && slots_[at].pair != pair) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return at;
  }

  std::array<std::uint64_t, 2> key_ = hash_key();
  std::vector<Slot> slots_;           // a power of two, at most half of them taken
  std::vector<std::int32_t> merged_;  // by rank
};

}  // namespace ingot
