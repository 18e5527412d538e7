// Scores and sums of values over pages of floats: F32, F16 and BF16.
//
// Written over a lanes type L. A lane is a position for scores (keys are stored [D][16 tokens]) and
// an element of the head for outputs (values are stored [16 tokens][D]).
#pragma once

#include "backend/cpu/kernels/attention_chunk.inl"

namespace ingot {
namespace {

/// The queries of a call, times the scale.
struct FloatQueries {
  QueryRows<float> q;

  INGOT_INLINE explicit FloatQueries(int cols) : q(cols) {}
  template <class L>
  INGOT_INLINE void set(int query, const float* scaled) {
    for (int d = 0; d < q.cols; ++d) q[query][d] = scaled[d];
  }
};

template <class L, KvType kType>
INGOT_INLINE typename L::F load_kv(const std::byte* p) {
  if constexpr (kType == KvType::kF32) return L::load(reinterpret_cast<const float*>(p));
  if constexpr (kType == KvType::kF16) return L::load_half(p);
  if constexpr (kType == KvType::kBF16) return L::load_bfloat16(p);
}

template <KvType kType>
inline constexpr std::int64_t kKvBytes = kType == KvType::kF32 ? 4 : 2;

/// Scores of all positions of a chunk, seen or not: s[query][block]. Like the other inner loops a
/// function of its own: all registers are its accumulators'.
template <class L, KvType kType, int kCount>
[[gnu::noinline]] void chunk_scores(const AttentionArgs& a, const ChunkPass<kCount>& c,
                                    const FloatQueries& queries, typename L::F (*s)[kChunkBlocks]) {
  constexpr int kTogether = L::kScoreBlocks;
  constexpr std::int64_t kStep = kBlockTokens * kKvBytes<kType>;
  const std::int64_t to_values = a.v_offset - a.k_offset;
  const bool ahead = c.brings_near();
  for (int b = 0; b < kChunkBlocks; b += kTogether) {
    const std::byte* keys[kTogether];
    typename L::F acc[kCount][kTogether];
    for (int j = 0; j < kTogether; ++j) {
      keys[j] = c.chunk.blocks[b + j] + a.k_offset;
      for (int i = 0; i < kCount; ++i) acc[i][j] = L::splat(0);
    }
    for (std::int32_t d = 0; d < a.head_dim; ++d) {
      typename L::F k[kTogether];
      for (int j = 0; j < kTogether; ++j) {
        k[j] = load_kv<L, kType>(keys[j] + d * kStep);
        if (ahead && d * kStep % 64 == 0) bring_near(keys[j] + to_values + d * kStep);
      }
      for (int i = 0; i < kCount; ++i) {
        const auto x = L::splat(queries.q[c.query + i][d]);
        for (int j = 0; j < kTogether; ++j) acc[i][j] = L::fma(x, k[j], acc[i][j]);
      }
    }
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kTogether; ++j) s[i][b + j] = cap_scores<L>(acc[i][j], a.score_cap);
    }
  }
}

/// Positions that all queries of a pass see; none if there is no such, at the chunk's end.
template <int kCount>
INGOT_INLINE ChunkView common_view(const ChunkPass<kCount>& c) {
  ChunkView common = c.view[0];
  for (const ChunkView& v : c.view) {
    common.from = v.from > common.from ? v.from : common.from;
    common.to = v.to < common.to ? v.to : common.to;
  }
  return common.empty() ? ChunkView{kChunk, kChunk} : common;
}

/// kParts stretches of 16 elements of the values, for the queries of a pass.
template <class L, KvType kType, int kCount, int kParts>
struct ValueSums {
  const std::byte* const* values;  ///< [blocks of the chunk], at the stretch's first element
  const std::byte* const* next;    ///< [blocks of the chunk], what to bring near meanwhile, or null
  std::int64_t row_bytes;
  typename L::F (&o)[kCount][kParts];

  /// Calls fn(t, v) for positions [from, to), v the values there.
  template <class Fn>
  INGOT_INLINE void for_values(std::int32_t from, std::int32_t to, Fn fn) const {
    while (from < to) {
      const std::byte* at = values[from / kBlockTokens] + from % kBlockTokens * row_bytes;
      const std::int64_t to_next =
          next == nullptr ? 0 : next[from / kBlockTokens] - values[from / kBlockTokens];
      const std::int32_t end = (from / kBlockTokens + 1) * kBlockTokens;
      for (const std::int32_t stop = end < to ? end : to; from < stop; ++from, at += row_bytes) {
        typename L::F v[kParts];
        for (int j = 0; j < kParts; ++j) {
          v[j] = load_kv<L, kType>(at + 16 * j * kKvBytes<kType>);
          if (to_next != 0 && 16 * j * kKvBytes<kType> % 64 == 0) {
            bring_near(at + to_next + 16 * j * kKvBytes<kType>);
          }
        }
        fn(from, v);
      }
    }
  }
  /// o += p * v over positions [from, to) for one query.
  INGOT_INLINE void add_one(int i, const float* p, std::int32_t from, std::int32_t to) {
    for_values(from, to, [&](std::int32_t t, const typename L::F* v) {
      for (int j = 0; j < kParts; ++j) o[i][j] = L::fma(L::splat(p[t]), v[j], o[i][j]);
    });
  }
  /// The same for all queries, each value read once.
  INGOT_INLINE void add_all(const float (*p)[kChunk], std::int32_t from, std::int32_t to) {
    for_values(from, to, [&](std::int32_t t, const typename L::F* v) {
      for (int i = 0; i < kCount; ++i) {
        const auto w = L::splat(p[i][t]);
        for (int j = 0; j < kParts; ++j) o[i][j] = L::fma(w, v[j], o[i][j]);
      }
    });
  }
};

/// o = o * factor, then o += p * v over each query's visible positions, ascending.
template <class L, KvType kType, int kCount, int kParts>
[[gnu::noinline]] void add_values(const AttentionArgs& a, const ChunkPass<kCount>& c, int part,
                                  const float (*p)[kChunk], const float* factor,
                                  SoftmaxStates& state) {
  const std::byte* values[kChunkBlocks];
  const std::byte* next[kChunkBlocks];
  for (int b = 0; b < kChunkBlocks; ++b) {
    const std::int64_t stretch = part * 16 * kKvBytes<kType>;
    values[b] = c.chunk.blocks[b] + a.v_offset + stretch;
    next[b] = c.chunk.next[b] + a.k_offset + stretch;
  }
  const std::int64_t row_bytes = (a.head_dim + 15) / 16 * 16 * kKvBytes<kType>;
  typename L::F o[kCount][kParts];
  ValueSums<L, kType, kCount, kParts> sums{values, c.brings_near() ? next : nullptr, row_bytes, o};
  const ChunkView common = common_view(c);
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < kParts; ++j) {
      o[i][j] = L::mul(L::load(state.o[c.query + i] + 16 * (part + j)), L::splat(factor[i]));
    }
    const ChunkView& v = c.view[i];
    sums.add_one(i, p[i], v.from, v.to < common.from ? v.to : common.from);
  }
  sums.add_all(p, common.from, common.to);
  for (int i = 0; i < kCount; ++i) {
    const ChunkView& v = c.view[i];
    sums.add_one(i, p[i], v.from > common.to ? v.from : common.to, v.to);
    for (int j = 0; j < kParts; ++j) {
      L::store(state.o[c.query + i] + 16 * (part + j), o[i][j]);
    }
  }
}

template <class L, KvType kType, int kCount>
INGOT_INLINE void add_all_values(const AttentionArgs& a, const ChunkPass<kCount>& c,
                                 const float (*p)[kChunk], const float* factor,
                                 SoftmaxStates& state) {
  // As many chains at once as hide each other's latency, and as there are registers for.
  constexpr int kChains = L::kQueries * L::kScoreBlocks;
  constexpr int kMost = kChains / kCount > 8 ? 8 : kChains / kCount > 2 ? kChains / kCount : 2;
  const int parts = (a.head_dim + 15) / 16;
  int part = 0;
  for (; part + kMost <= parts; part += kMost) {
    add_values<L, kType, kCount, kMost>(a, c, part, p, factor, state);
  }
  for (; kMost > 2 && part + 2 <= parts; part += 2) {
    add_values<L, kType, kCount, 2>(a, c, part, p, factor, state);
  }
  if (part < parts) add_values<L, kType, kCount, 1>(a, c, part, p, factor, state);
}

}  // namespace
}  // namespace ingot
