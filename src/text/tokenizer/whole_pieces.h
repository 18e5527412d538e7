// WholePieces: caches whether BPE merging of a token's text gives just that token, so that most
// words skip merging.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/index.h"
#include "text/tokenizer/piece_map.h"

namespace ingot {

/// Caches for each token whether merging the token's text gives just this token. Merging may give
/// several tokens instead. `find` tests a token at the token's first use. Thread-safe: threads that
/// test one token at the same time get equal results.
class WholePieces {
 public:
  /// Makes a cache for `size` tokens. `ids` finds a token by its text and must outlive the cache.
  WholePieces(const PieceMap& ids, std::size_t size) : ids_(&ids), states_(size) {}

  /// Returns the token with the text `piece` if merging that text gives just this token, otherwise
  /// -1. `is_whole(id)` tests a token; the cache keeps the result.
  template <class IsWhole>
  std::int32_t find(std::string_view piece, const IsWhole& is_whole) const {
    const std::int32_t id = ids_->find(piece);
    if (id < 0) return -1;
    std::atomic<State>& state = at(states_, id);
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
  mutable std::vector<std::atomic<State>> states_;  // result of is_whole, by id
};

}  // namespace ingot
