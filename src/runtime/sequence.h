// Sequence: one request's tokens and how far they are computed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/view.h"
#include "kv/kv_cache.h"

namespace ingot {

/// Tokens (or embedding rows in their place), how many of them have keys and values, and where
/// those are.
struct Sequence {
  explicit Sequence(KvCache& cache) : blocks(cache) {}

  std::vector<std::int32_t> tokens;
  View embeddings;            ///< [n, H] float32 in place of tokens, or none
  std::int64_t computed = 0;  ///< tokens whose keys and values are in `blocks`
  SequenceBlocks blocks;

  /// Gives back the blocks that no row to come can see. Not before the computed tokens are sure to
  /// stay: a rejected draft has to find the window that it was computed with.
  void forget() { blocks.forget_before(computed); }

  std::int64_t length() const {
    return embeddings ? embeddings.rows : static_cast<std::int64_t>(tokens.size());
  }
};

}  // namespace ingot
