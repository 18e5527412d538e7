// Attention scores and sums of values over pages of floats: F32 and F16.
//
// Written over a lanes type L. A lane is a position for scores (keys are stored [D][16 tokens]) and
// an element of the head for outputs (values are stored [16 tokens][D]).
#pragma once

#include "backend/cpu/kernels/attention_chunk.inl"

namespace ingot {
namespace {

/// The queries of a call, multiplied by the scale, as [cols / 16][queries][16]. So a pass addresses
/// all queries from one register.
struct FloatQueries {
  alignas(64) float data[kQueryElements];
  int cols;
  int count;

  INGOT_INLINE FloatQueries(int cols_of, int queries) : cols(cols_of), count(queries) {}
  template <class L>
  INGOT_INLINE void set(int query, const float* scaled) {
    for (int d = 0; d < cols; d += 16) {
      L::store(data + d * count + 16 * query, L::load(scaled + d));
    }
  }
};

template <class L, KvType kType>
INGOT_INLINE typename L::F load_kv(const std::byte* p) {
  if constexpr (kType == KvType::kF32) return L::load(reinterpret_cast<const float*>(p));
  if constexpr (kType == KvType::kF16) return L::load_half(p);
}

template <KvType kType>
inline constexpr std::int64_t kKvBytes = kType == KvType::kF32 ? 4 : 2;

/// acc += q * k over all elements of the head. `q` is the first query of the pass; FloatQueries has
/// `queries` queries.
template <class L, KvType kType, int kCount, int kTogether, bool kAhead>
INGOT_INLINE void add_products(const std::byte* const* keys, const std::int64_t* to_next,
                               std::int32_t head_dim, const float* all_q, int queries,
                               typename L::F (&acc)[kCount][kTogether]) {
  constexpr std::int64_t kStep = kBlockTokens * kKvBytes<kType>;
  for (std::int32_t first = 0; first < head_dim; first += 16) {
    const float* q = all_q + first * queries;
    const std::int64_t end = kStep * (first + 16 < head_dim ? first + 16 : head_dim);
    for (std::int64_t at = kStep * first; at < end; at += kStep, ++q) {
      typename L::F k[kTogether];
      for (int j = 0; j < kTogether; ++j) {
        k[j] = load_kv<L, kType>(keys[j] + at);
        if (kAhead && at % kLine == 0) prefetch_line(keys[j] + to_next[j] + at);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) {
        const auto x = L::splat(q[16 * i]);
        for (int j = 0; j < kTogether; ++j) acc[i][j] = L::fma(x, k[j], acc[i][j]);
      }
    }
  }
}

/// Scores of the positions of a chunk; 0 in blocks that no query sees. Like other inner loops it is
/// not inlined, so that its accumulators get all registers.
template <class L, KvType kType, int kCount>
[[gnu::noinline]] void chunk_scores(const AttentionArgs& a, const ChunkPass<kCount>& c,
                                    const FloatQueries& queries, ChunkWeights& w) {
  constexpr int kTogether = blocks_together<L>(kCount);
  const bool ahead = c.prefetches();
  const float* q = queries.data + 16 * c.query;
  const ChunkView seen = seen_by_any(c);
  for (int b = 0; b < kChunkBlocks; b += kTogether) {
    if ((b + kTogether) * kBlockTokens <= seen.from || b * kBlockTokens >= seen.to) {
      w.clear<L>(c.query, kCount, b, kTogether);
      continue;
    }
    const std::byte* keys[kTogether];
    std::int64_t to_next[kTogether];
    typename L::F acc[kCount][kTogether];
    for (int j = 0; j < kTogether; ++j) {
      keys[j] = c.chunk.keys[b + j];
      to_next[j] = c.chunk.values[b + j] - keys[j];
      for (int i = 0; i < kCount; ++i) acc[i][j] = L::splat(0);
    }
    if (ahead) {
      add_products<L, kType, kCount, kTogether, true>(keys, to_next, a.head_dim, q, queries.count,
                                                      acc);
    } else {
      add_products<L, kType, kCount, kTogether, false>(keys, to_next, a.head_dim, q, queries.count,
                                                       acc);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kTogether; ++j) w.set<L>(c.query + i, b + j, acc[i][j]);
    }
  }
  cap_chunk<L>(a, c, w);
}

/// A range of positions, and the queries that add its values to their sums.
struct ValueRange {
  std::int32_t from = 0;          ///< positions of the chunk
  std::int32_t to = 0;            ///< all these queries see [from, to)
  const float* p = nullptr;       ///< [queries][kChunk] weights
  const float* factor = nullptr;  ///< [queries] factors of the sums over earlier positions
  float* o = nullptr;             ///< [queries] sums
  std::int64_t o_stride = 0;      ///< floats from one query's sum to the next
};

/// o += p * v over positions of one block, ascending; reads each value once. [p, end) are the
/// weights of the first query.
template <class L, KvType kType, int kCount, int kParts, bool kAhead>
INGOT_INLINE void add_block(const std::byte* v, std::int64_t row_bytes, std::int64_t to_next,
                            const float* p, const float* end, typename L::F (&o)[kCount][kParts]) {
  for (; p < end; ++p, v += row_bytes) {
    typename L::F x[kParts];
    for (int j = 0; j < kParts; ++j) {
      const std::int64_t at = 16 * j * kKvBytes<kType>;
      x[j] = load_kv<L, kType>(v + at);
      if (kAhead && at % kLine == 0) prefetch_line(v + to_next + at);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
      const auto w = L::splat(p[i * kChunk]);
      for (int j = 0; j < kParts; ++j) o[i][j] = L::fma(w, x[j], o[i][j]);
    }
  }
}

/// o = o * factor + p * v, for 16 * kParts elements of the values from element 16 * part on.
template <class L, KvType kType, int kCount, int kParts>
[[gnu::noinline]] void add_parts(const AttentionArgs& a, const HeadChunk& chunk, int part,
                                 bool ahead, const ValueRange& r) {
  const std::int64_t row_bytes = (a.value_dim + 15) / 16 * 16 * kKvBytes<kType>;
  float* const out = r.o + 16 * part;
  typename L::F o[kCount][kParts];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    const auto factor = L::splat(r.factor[i]);
    for (int j = 0; j < kParts; ++j) {
      o[i][j] = L::mul(L::load(out + i * r.o_stride + 16 * j), factor);
    }
  }
  for (std::int32_t t = r.from; t < r.to;) {
    const std::int32_t b = t / kBlockTokens;
    const std::int32_t end = (b + 1) * kBlockTokens < r.to ? (b + 1) * kBlockTokens : r.to;
    const std::byte* v =
        chunk.values[b] + t % kBlockTokens * row_bytes + part * 16 * kKvBytes<kType>;
    const std::int64_t to_next = chunk.next_keys[b] - chunk.values[b];
    if (ahead) {
      add_block<L, kType, kCount, kParts, true>(v, row_bytes, to_next, r.p + t, r.p + end, o);
    } else {
      add_block<L, kType, kCount, kParts, false>(v, row_bytes, 0, r.p + t, r.p + end, o);
    }
    t = end;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < kParts; ++j) L::store(out + i * r.o_stride + 16 * j, o[i][j]);
  }
}

template <class L, KvType kType, int kCount>
INGOT_INLINE void add_range(const AttentionArgs& a, const HeadChunk& chunk, bool ahead,
                            const ValueRange& r) {
  constexpr int kChains = L::kAttentionChains;
  constexpr int kMost = kChains / kCount > 8 ? 8 : kChains / kCount > 2 ? kChains / kCount : 2;
  const int parts = (a.value_dim + 15) / 16;
  int part = 0;
  for (; part + kMost <= parts; part += kMost) {
    add_parts<L, kType, kCount, kMost>(a, chunk, part, ahead, r);
  }
  for (; kMost > 2 && part + 2 <= parts; part += 2) {
    add_parts<L, kType, kCount, 2>(a, chunk, part, ahead, r);
  }
  if (part < parts) add_parts<L, kType, kCount, 1>(a, chunk, part, ahead, r);
}

/// The positions that all queries of a pass see. If there are none, an empty range at the end of
/// the chunk.
template <int kCount>
INGOT_INLINE ChunkView common_view(const ChunkPass<kCount>& c) {
  ChunkView common = c.view[0];
  for (const ChunkView& v : c.view) {
    common.from = v.from > common.from ? v.from : common.from;
    common.to = v.to < common.to ? v.to : common.to;
  }
  return common.empty() ? ChunkView{kChunk, kChunk} : common;
}

/// o = o * factor, then o += p * v over each query's visible positions, ascending. Positions that
/// all queries see are processed together, the others query by query.
template <class L, KvType kType, int kCount>
INGOT_INLINE void add_values(const AttentionArgs& a, const ChunkPass<kCount>& c,
                             const ChunkWeights& w, SoftmaxStates& state) {
  static constexpr float kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  static_assert(kCount <= 16);
  const ChunkView common = common_view(c);
  const auto add_one = [&](int i, std::int32_t from, std::int32_t to, const float* factor) {
    add_range<L, kType, 1>(a, c.chunk, false,
                           {from, to, w.p[c.query + i], factor, state.o[c.query + i]});
  };
  const float* factor = w.factor + c.query;
  bool all_begin = true;
  for (const ChunkView& v : c.view) all_begin = all_begin && v.from == common.from;
  for (int i = 0; !all_begin && i < kCount; ++i) {
    const ChunkView& v = c.view[i];
    add_one(i, v.from, v.to < common.from ? v.to : common.from, factor + i);
  }
  if (!all_begin) factor = kOnes;
  const bool ahead = c.prefetches();
  add_range<L, kType, kCount>(
      a, c.chunk, ahead,
      {common.from, common.to, w.p[c.query], factor, state.o[c.query], state.o.cols});
  for (int i = 0; i < kCount; ++i) {
    const ChunkView& v = c.view[i];
    const std::int32_t from = v.from > common.to ? v.from : common.to;
    if (from < v.to) add_one(i, from, v.to, kOnes);
  }
}

}  // namespace
}  // namespace ingot
