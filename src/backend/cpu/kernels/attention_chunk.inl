// Attention over one chunk of 64 keys: the code that all KV types share (backend.h, `attention`).
//
// Written over a lanes type L; a lane is a position.
#pragma once

#include "backend/batch.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/bfloat16.inl"
#include "backend/cpu/kernels/prefetch.inl"
#include "backend/cpu/kernels/tail_lanes.inl"
#include "base/inline.h"
#include "base/math.h"

namespace ingot {
namespace {

inline constexpr int kChunkBlocks = kChunk / kBlockTokens;

/// `cols` elements for each query, without gaps: if rows had the distance of the longest head, they
/// would share few sets of the first-level cache.
template <class T>
struct QueryRows {
  alignas(64) T data[kQueryElements];
  int cols;  ///< a multiple of 16

  INGOT_INLINE explicit QueryRows(int cols_of) : cols(cols_of) {}
  INGOT_INLINE T* operator[](int query) { return data + query * cols; }
  INGOT_INLINE const T* operator[](int query) const { return data + query * cols; }
};

/// Online softmax state of each query: largest score, sum of weights, weighted sum of values.
struct SoftmaxStates {
  float m[kQueriesLimit];
  float l[kQueriesLimit];
  QueryRows<float> o;

  INGOT_INLINE explicit SoftmaxStates(int cols) : o(cols) {}
  INGOT_INLINE void clear(int query) {
    m[query] = -__builtin_inff();
    l[query] = 0;
    for (int i = 0; i < o.cols; ++i) o[query][i] = 0;
  }
};

/// The positions [from, to) of a chunk that a query sees.
struct ChunkView {
  std::int32_t from = 0;
  std::int32_t to = 0;

  INGOT_INLINE bool empty() const { return from >= to; }
  INGOT_INLINE bool whole() const { return from == 0 && to == kChunk; }
};

/// Number of queries for each kv head. Queries are numbered by kv head, then row, then query head.
INGOT_INLINE int queries_of_head(const AttentionArgs& a) { return a.rows * a.heads; }

INGOT_INLINE int queries_of(const AttentionArgs& a) { return queries_of_head(a) * a.kv_heads; }

INGOT_INLINE int row_of(const AttentionArgs& a, int query) {
  return query % queries_of_head(a) / a.heads;
}

/// The number of a query's head among the query heads of the call.
INGOT_INLINE int head_of(const AttentionArgs& a, int query) {
  return query / queries_of_head(a) * a.heads + query % a.heads;
}

/// The positions that a row sees in the chunk that begins at key `start`.
INGOT_INLINE ChunkView view_of(const AttentionArgs& a, int row, std::int32_t start) {
  const std::int32_t first = a.first[row] - start;
  const std::int32_t last = a.last[row] - start;
  return {.from = first > 0 ? first : 0, .to = last < kChunk ? last : kChunk};
}

/// A chunk with at least one key that some query of the call sees.
struct Chunk {
  std::int32_t start = 0;  ///< position of its first key
  /// The chunk's blocks. The nearest visible block replaces a block that no query sees.
  const std::byte* blocks[kChunkBlocks];
  const std::byte* next[kChunkBlocks];  ///< the blocks of the next chunk, with this replacement

  /// [first, last) are the keys that at least one query sees.
  INGOT_INLINE Chunk(const AttentionArgs& a, std::int32_t at, std::int32_t first, std::int32_t last)
      : start(at) {
    const std::int32_t low = first / kBlockTokens;
    const std::int32_t high = (last - 1) / kBlockTokens;
    const auto block = [&](std::int32_t i) {
      return a.pages + a.table[i < low ? low : i < high ? i : high] * a.block_bytes;
    };
    for (int b = 0; b < kChunkBlocks; ++b) {
      blocks[b] = block(start / kBlockTokens + b);
      next[b] = block(start / kBlockTokens + kChunkBlocks + b);
    }
  }
};

/// One kv head's part of a chunk, block by block, and the keys that are read next.
///
/// A head's part of a block is too short for the processor to predict the next read. So the first
/// pass over the keys prefetches the values, and the first pass over the values prefetches the next
/// keys: the next head's, which lie beside these, or the next chunk's. If few queries share the
/// keys, `prefetch_during_softmax` keeps memory busy between the two.
struct HeadChunk {
  std::int32_t start;  ///< position of the chunk's first key
  int first_query;     ///< number of the head's first query
  const std::byte* keys[kChunkBlocks];
  const std::byte* values[kChunkBlocks];
  const std::byte* next_keys[kChunkBlocks];

  INGOT_INLINE HeadChunk(const AttentionArgs& a, const Chunk& chunk, int kv_head)
      : start(chunk.start), first_query(kv_head * queries_of_head(a)) {
    const bool is_last = kv_head + 1 == a.kv_heads;
    const std::int64_t next_offset = a.k_offset + (is_last ? 0 : (kv_head + 1) * a.k_head);
    for (int b = 0; b < kChunkBlocks; ++b) {
      keys[b] = chunk.blocks[b] + a.k_offset + kv_head * a.k_head;
      values[b] = chunk.blocks[b] + a.v_offset + kv_head * a.v_head;
      next_keys[b] = (is_last ? chunk.next : chunk.blocks)[b] + next_offset;
    }
  }
};

/// One kv head's part of a chunk, and kCount of its queries, which all see a key of it.
template <int kCount>
struct ChunkPass {
  const HeadChunk& chunk;
  int query = 0;  ///< number of the first query
  ChunkView view[kCount];

  /// Whether this pass prefetches: only the first pass of a head does.
  INGOT_INLINE bool prefetches() const { return query == chunk.first_query; }
};

/// Prefetches the first lines of the next keys in each block. Called before the weights of few
/// queries are computed, which takes about as long on a Xeon as memory takes for these lines.
template <int kCount>
INGOT_INLINE void prefetch_during_softmax(const AttentionArgs& a, const ChunkPass<kCount>& c) {
  if (!c.prefetches() || queries_of_head(a) > 4) return;
  const std::int64_t bytes = a.k_head < 16 * kLine ? a.k_head : 16 * kLine;
  for (const std::byte* keys : c.chunk.next_keys) {
    for (std::int64_t at = 0; at < bytes; at += kLine) prefetch_line(keys + at);
  }
}

/// The smallest range of positions that contains all positions that queries of a pass see.
template <int kCount>
INGOT_INLINE ChunkView seen_by_any(const ChunkPass<kCount>& c) {
  ChunkView seen = c.view[0];
  for (const ChunkView& v : c.view) {
    seen.from = v.from < seen.from ? v.from : seen.from;
    seen.to = v.to > seen.to ? v.to : seen.to;
  }
  return seen;
}

template <class L>
INGOT_INLINE typename L::F cap_scores(typename L::F s, float cap) {
  if (cap == 0) return s;
  const auto c = L::splat(cap);
  return L::mul(c, math::tanh_lanes<L>(L::div(s, c)));
}

/// Scores of a chunk for all queries of a call; `chunk_weights` turns them into weights in place.
/// All passes over a head's keys come before the passes over its values, so that keys and then
/// values stay in the first cache.
struct ChunkWeights {
  /// Scores, then weights. A tile of the last queries also writes rows that are no queries.
  alignas(64) float p[kQueriesLimit + kMatrixRows][kChunk];
  float factor[kQueriesLimit];  ///< factor of the sums over earlier chunks

  template <class L>
  INGOT_INLINE void set(int query, int block, typename L::F s) {
    L::store(p[query] + block * kBlockTokens, s);
  }
  template <class L>
  INGOT_INLINE void clear(int query, int queries, int block, int blocks) {
    for (int i = 0; i < queries; ++i) {
      for (int b = 0; b < blocks; ++b) set<L>(query + i, block + b, L::splat(0));
    }
  }
};

/// Caps the scores of a pass's queries, if there is a cap.
template <class L, int kCount>
INGOT_INLINE void cap_chunk(const AttentionArgs& a, const ChunkPass<kCount>& c, ChunkWeights& w) {
  for (int i = 0; a.score_cap != 0 && i < kCount; ++i) {
    float* s = w.p[c.query + i];
    for (int at = 0; at < kChunk; at += 16) {
      L::store(s + at, cap_scores<L>(L::load(s + at), a.score_cap));
    }
  }
}

/// Blocks of keys that a pass of `queries` queries computes together: enough independent chains to
/// hide latency, but no more than fit in registers.
template <class L>
constexpr int blocks_together(int queries) {
  int blocks = L::kScoreBlocks;
  while (blocks > 1 && blocks * queries > L::kAttentionChains) blocks /= 2;
  return blocks;
}

/// Adds `bias` to 16 scores. A NaN loses its payload, so that round_share keeps it.
template <class L>
INGOT_INLINE void add_bias(float* scores, const float* bias) {
  const auto s = L::add(L::load(scores), L::load(bias));
  L::store(scores, L::select(L::le(s, s), s, L::splat(__builtin_nanf(""))));
}

/// Adds a query's position biases to its scores of the chunk that begins at key `start`.
template <class L>
[[gnu::noinline]] void add_position_bias(const AttentionArgs& a, std::int32_t start, int query,
                                         float* scores) {
  const std::int32_t reach = a.bias_reach;
  const float* bias = a.bias + head_of(a, query) * a.bias_stride + reach;
  for (int b = 0; b < kChunkBlocks; ++b, scores += kBlockTokens) {
    const std::int32_t first = start + b * kBlockTokens - a.key[row_of(a, query)];
    const std::int32_t last = first + kBlockTokens - 1;
    if (first >= -reach && last <= reach) {
      add_bias<L>(scores, bias + first);
      continue;
    }
    alignas(64) float clamped[kBlockTokens];
    for (std::int32_t i = 0; i < kBlockTokens; ++i) {
      const std::int32_t distance = first + i;
      clamped[i] = bias[distance < -reach ? -reach : distance > reach ? reach : distance];
    }
    add_bias<L>(scores, clamped);
  }
}

/// Adds the position biases of a pass's queries, if there are any.
template <class L, int kCount>
INGOT_INLINE void add_position_biases(const AttentionArgs& a, const ChunkPass<kCount>& c,
                                      ChunkWeights& w) {
  for (int i = 0; a.bias != nullptr && i < kCount; ++i) {
    add_position_bias<L>(a, c.chunk.start, c.query + i, w.p[c.query + i]);
  }
}

/// The largest score of the keys that a query sees in a chunk. Sets all other scores to -Inf.
template <class L>
INGOT_INLINE float largest_seen(const ChunkView& view, float* scores) {
  typename L::F s[kChunkBlocks];
  for (int b = 0; b < kChunkBlocks; ++b) s[b] = L::load(scores + b * kBlockTokens);
  if (!view.whole()) {
    const auto nothing = L::splat(-__builtin_inff());
    for (int b = 0; b < kChunkBlocks; ++b) {
      const std::int32_t at = b * kBlockTokens;
      s[b] = blend<L>(s[b], view.to - at, nothing);
      s[b] = blend<L>(nothing, view.from - at, s[b]);
      L::store(scores + at, s[b]);
    }
  }
  auto largest = s[0];
  for (int b = 1; b < kChunkBlocks; ++b) largest = L::max(s[b], largest);
  return L::max_lane(largest);
}

/// Replaces a query's scores s by weights exp(s - m), and returns their sum. Rounds the weights to
/// bfloat16 if `kRounded`.
template <class L, bool kRounded>
INGOT_INLINE float weigh_seen(const ChunkView& view, float m, float* scores) {
  auto lanes = L::splat(0);
  for (int b = 0; b < kChunkBlocks; ++b) {
    const std::int32_t at = b * kBlockTokens;
    if (at + kBlockTokens <= view.from || at >= view.to) {
      L::store(scores + at, L::splat(0));
      continue;
    }
    // Unseen lanes are -inf - m, which gives +0. If m is not finite, the row is NaN on every path.
    auto w = math::exp_not_positive_lanes<L>(L::sub(L::load(scores + at), L::splat(m)));
    if constexpr (kRounded) w = round_share<L>(w);
    L::store(scores + at, w);
    lanes = L::add(lanes, w);
  }
  return L::tree(lanes);
}

/// Replaces the scores of a chunk by weights, updates m and l of the queries, and writes the
/// factors of their sums over earlier chunks. `kRounded`: see weigh_seen.
template <class L, bool kRounded, int kCount>
INGOT_INLINE void chunk_weights(const ChunkPass<kCount>& c, ChunkWeights& w, SoftmaxStates& state) {
  static_assert(kCount <= 16);
  float m[kCount];
  alignas(64) float factor[16] = {};
  for (int i = 0; i < kCount; ++i) {
    const float before = state.m[c.query + i];
    m[i] = OneLane::max(before, largest_seen<L>(c.view[i], w.p[c.query + i]));
    factor[i] = before - m[i];
  }
  L::store(factor, math::exp_not_positive_lanes<L>(L::load(factor)));
  for (int i = 0; i < kCount; ++i) {
    float& l = state.l[c.query + i];
    l = __builtin_fmaf(l, factor[i], weigh_seen<L, kRounded>(c.view[i], m[i], w.p[c.query + i]));
    w.factor[c.query + i] = factor[i];
    state.m[c.query + i] = m[i];
  }
}

}  // namespace
}  // namespace ingot
