// Pieces of text that are one token: most words of a text need not be merged.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer/piece_map.h"

namespace ingot {

/// Remembers which tokens are what merging makes of their own text. Not every token is: merges may
/// join its parts in another order first. Each is tried when it is met first; any number of threads
/// can ask, and find the same answer.
class WholePieces {
 public:
  /// For a vocabulary of `size` tokens, found by `ids`, which must outlive it.
  WholePieces(const PieceMap& ids, std::size_t size) : ids_(&ids), states_(size) {}

  /// The token whose text is `piece`, when `is_whole(id)` says that merging makes just this token,
  /// which it is asked once a token (by each thread that comes at the same time); -1 otherwise.
  template <class IsWhole>
  std::int32_t find(std::string_view piece, const IsWhole& is_whole) const {
    const std::int32_t id = ids_->find(piece);
    if (id < 0) return -1;
    std::atomic<State>& state = states_[static_cast<std::size_t>(id)];
    State known = state.load(std::memory_order_relaxed);
    if (known == State::kUntried) {
      known = is_whole(id) ? State::kWhole : State::kMerged;
      state.store(known, std::memory_order_relaxed);
    }
    return known == State::kWhole ? id : -1;
  }

 private:
  enum class State : std::uint8_t { kUntried, kWhole, kMerged };

  const PieceMap* ids_;
  mutable std::vector<std::atomic<State>> states_;  // by id; a cache of what is_whole says
};

}  // namespace ingot
