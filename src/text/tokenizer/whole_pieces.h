// WholePieces: remembers which tokens merging gives for their own text, so that most words skip
// merging.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer/piece_map.h"

namespace ingot {

/// Remembers which tokens merging gives for their own text. Other merges may apply first, so not
/// every token qualifies. Each token is tried at its first use; threads that race get equal
/// answers.
class WholePieces {
 public:
  /// A vocabulary of `size` tokens, found by `ids`, which must outlive this.
  WholePieces(const PieceMap& ids, std::size_t size) : ids_(&ids), states_(size) {}

  /// The token whose text is `piece` if `is_whole(id)` confirms that merging gives just this token;
  /// otherwise -1. `is_whole` is called once per token (once per thread that races).
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
