// Batch: the rows of all sequences in one step; the runtime plans it, a backend computes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/adapter.h"
#include "base/index.h"
#include "base/view.h"

namespace ingot {

/// Number of tokens in a KV block; positions 16 k to 16 k + 15 of a sequence share a block. Another
/// number breaks the kernels, which have 16 lanes: one for each token of a block.
inline constexpr std::int32_t kBlockTokens = 16;

/// Slots and block tables of one KV group for a step's rows.
///
/// Units: a slot is the number of a token in the pool, block * 16 + offset; -1 skips the row.
struct KvBlocks {
  std::span<const std::int32_t> slots;   ///< [T] slot of each row
  std::span<const std::int32_t> tables;  ///< [S, blocks_max] blocks; -1: a block that no row sees
  std::int32_t blocks_max = 0;
};

/// T rows of S sequences. A sequence's rows are adjacent, and are the sequence's last positions.
///
/// In a sequence with q rows, row i has key number kv_len - q + i. A causal row sees the keys up to
/// its own; a bidirectional row sees all kv_len keys. A layer's window hides distant keys.
struct Batch {
  /// [T] token ids in [0, V); unused for rows with embeddings. If the backend draws, a negative
  /// value ~r stands for entry r of LogitsReduce::drawn in the step begun before this one. If that
  /// entry is no token, the row has token 0, and its results are not used.
  std::span<const std::int32_t> tokens;
  /// [S] views; empty: no embeddings. If view s is not null, its rows replace the tokens of
  /// sequence s. View s is [q_start[s + 1] - q_start[s], H], in float32 and host memory.
  std::span<const View> embeddings;
  std::span<const std::int32_t> types;  ///< [T] type of each row, for type embeddings; empty: all 0
  std::span<const std::int32_t> positions;  ///< [T] position of each row, for its embeddings
  std::span<const std::int32_t> q_start;    ///< [S + 1] first row of each sequence, then T
  std::span<const std::int32_t> kv_len;     ///< [S] number of keys of each sequence after this step
  std::span<const KvBlocks> groups;         ///< slots and block tables of each KV group
  std::span<const std::int32_t> out_rows;   ///< [R] rows that give results, in any order
  std::span<const std::int32_t> pool_seqs;  ///< [P] sequences that `pool` reads
  /// [S] each sequence's entry of `adapters`, -1: none; empty: no sequence has adapters. Backends
  /// group rows that follow each other, so sequences with equal entries should be adjacent.
  std::span<const std::int32_t> adapter;
  /// [S] position of each sequence's first row with adapters; empty: all 0
  std::span<const std::int32_t> adapter_from;
  /// Lists of adapters, each in the order in which they are added. Their weights stay until `wait`.
  std::span<const std::span<const AdapterUse>> adapters;

  std::int32_t rows() const { return static_cast<std::int32_t>(positions.size()); }
  std::int32_t sequences() const { return static_cast<std::int32_t>(kv_len.size()); }

  /// Returns the entry of `adapters` for row t; -1 if the row has no adapters.
  std::int32_t adapter_of(std::int64_t t) const {
    if (adapter.empty()) return -1;
    const std::int64_t s = sequence_of(t);
    const bool is_before = !adapter_from.empty() && at(positions, t) < at(adapter_from, s);
    return is_before ? -1 : at(adapter, s);
  }

  /// Returns the sequence of row t.
  std::int64_t sequence_of(std::int64_t t) const {
    return std::upper_bound(q_start.begin(), q_start.end(), t) - q_start.begin() - 1;
  }

  /// Returns the elements of row t if this row is an embedding, else null.
  const std::byte* embedding(std::int64_t t) const {
    if (embeddings.empty()) return nullptr;
    const std::int64_t s = sequence_of(t);
    const View& rows = at(embeddings, s);
    return rows ? rows.row_data(t - at(q_start, s)) : nullptr;
  }
};

}  // namespace ingot
