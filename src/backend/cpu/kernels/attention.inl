// Attention of query heads over paged keys and values: backend.h, `attention`.
//
// Written over a lanes type L; included by the file of each instruction set. A lane is a position
// for scores (keys are stored [D][16 tokens]) and an element of the head for outputs (values are
// stored [16 tokens][D]). Queries go through keys and values together, so that these are read once
// for all of them; no sum crosses queries, so who shares a pass changes nothing.
#pragma once

#include "backend/batch.h"
#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/stretch.inl"
#include "base/inline.h"
#include "base/math.h"

namespace ingot {
namespace {

inline constexpr std::int32_t kChunk = 64;
inline constexpr std::int32_t kSplit = 1024;
inline constexpr int kChunkBlocks = kChunk / kBlockTokens;

/// Online softmaxes under way: largest score, sum of weights, weighted sum of values.
struct SoftmaxStates {
  float m[kQueriesLimit];
  float l[kQueriesLimit];
  alignas(64) float o[kQueriesLimit][kHeadDimLimit];

  INGOT_INLINE void clear(int query, int cols) {
    m[query] = -__builtin_inff();
    l[query] = 0;
    for (int i = 0; i < cols; ++i) o[query][i] = 0;
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

/// The part of a chunk that a query sees: positions [from, to) of it.
struct ChunkView {
  std::int32_t from = 0;
  std::int32_t to = 0;

  INGOT_INLINE bool empty() const { return from >= to; }
};

INGOT_INLINE ChunkView view_of(const AttentionArgs& a, int query, std::int32_t start) {
  const std::int32_t first = a.first[query / a.heads] - start;
  const std::int32_t last = a.last[query / a.heads] - start;
  return {.from = first > 0 ? first : 0, .to = last < kChunk ? last : kChunk};
}

/// A chunk and kCount queries that each see some of it.
template <int kCount>
struct ChunkPass {
  std::int32_t start = 0;  ///< position of the chunk's first key
  int query = 0;           ///< the first; the others follow
  ChunkView view[kCount];

  /// Where a block of the chunk lies; of one that no query sees, any that is there.
  INGOT_INLINE const std::byte* block(const AttentionArgs& a, int b) const {
    std::int32_t from = view[0].from;
    std::int32_t to = view[0].to;
    for (const ChunkView& v : view) {
      from = v.from < from ? v.from : from;
      to = v.to > to ? v.to : to;
    }
    if (b < from / kBlockTokens) b = from / kBlockTokens;
    if (b > (to - 1) / kBlockTokens) b = (to - 1) / kBlockTokens;
    return a.pages + a.table[start / kBlockTokens + b] * a.block_bytes;
  }
};

template <class L>
INGOT_INLINE typename L::F cap_scores(typename L::F s, float cap) {
  if (cap == 0) return s;
  const auto c = L::splat(cap);
  return L::mul(c, math::tanh_lanes<L>(L::div(s, c)));
}

/// Scores of all positions of a chunk, seen or not: s[query][block].
template <class L, KvType kType, int kCount>
INGOT_INLINE void chunk_scores(const AttentionArgs& a, const ChunkPass<kCount>& c,
                               const float (*q)[kHeadDimLimit], typename L::F (*s)[kChunkBlocks]) {
  constexpr int kTogether = L::kScoreBlocks;
  for (int b = 0; b < kChunkBlocks; b += kTogether) {
    const std::byte* keys[kTogether];
    typename L::F acc[kCount][kTogether];
    for (int j = 0; j < kTogether; ++j) {
      keys[j] = c.block(a, b + j) + a.k_offset;
      for (int i = 0; i < kCount; ++i) acc[i][j] = L::splat(0);
    }
    for (std::int32_t d = 0; d < a.head_dim; ++d) {
      typename L::F k[kTogether];
      for (int j = 0; j < kTogether; ++j) {
        k[j] = load_kv<L, kType>(keys[j] + d * kBlockTokens * kKvBytes<kType>);
      }
      for (int i = 0; i < kCount; ++i) {
        const auto x = L::splat(q[c.query + i][d]);
        for (int j = 0; j < kTogether; ++j) acc[i][j] = L::fma(x, k[j], acc[i][j]);
      }
    }
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kTogether; ++j) s[i][b + j] = cap_scores<L>(acc[i][j], a.score_cap);
    }
  }
}

/// Makes a query's scores of a chunk its weights p, moves m and l on, and returns what the sum of
/// values so far is to be multiplied by.
template <class L>
INGOT_INLINE float chunk_weights(const ChunkView& view, typename L::F* s, float* p, float& m,
                                 float& l) {
  const auto nothing = L::splat(-__builtin_inff());
  auto largest = nothing;
  for (int b = 0; b < kChunkBlocks; ++b) {
    const std::int32_t at = b * kBlockTokens;
    s[b] = blend<L>(s[b], view.to - at, nothing);
    s[b] = blend<L>(nothing, view.from - at, s[b]);
    largest = L::max(s[b], largest);
  }
  const float m_new = OneLane::max(m, L::max_lane(largest));
  auto lanes = L::splat(0);
  for (int b = 0; b < kChunkBlocks; ++b) {
    const std::int32_t at = b * kBlockTokens;
    if (at + kBlockTokens <= view.from || at >= view.to) continue;
    // Unseen lanes are -inf - m: +0 unless m is not finite, in which case the row is lost anyway
    // but stays NaN for the same reason on every path.
    const auto w = math::exp_lanes<L>(L::sub(s[b], L::splat(m_new)));
    L::store(p + at, w);
    lanes = L::add(lanes, w);
  }
  const float factor = math::exp(m - m_new);
  l = __builtin_fmaf(l, factor, L::tree(lanes));
  m = m_new;
  return factor;
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
  const AttentionArgs& a;
  const std::byte* const* values;  ///< [blocks of the chunk], at the stretch's first element
  std::int64_t row_bytes;
  typename L::F o[kCount][kParts];

  INGOT_INLINE const std::byte* at(std::int32_t t) const {
    return values[t / kBlockTokens] + t % kBlockTokens * row_bytes;
  }
  INGOT_INLINE void load(typename L::F* v, std::int32_t t) const {
    for (int j = 0; j < kParts; ++j) v[j] = load_kv<L, kType>(at(t) + 16 * j * kKvBytes<kType>);
  }
  /// o += p * v over positions [from, to) for one query.
  INGOT_INLINE void add_one(int i, const float* p, std::int32_t from, std::int32_t to) {
    for (std::int32_t t = from; t < to; ++t) {
      typename L::F v[kParts];
      load(v, t);
      for (int j = 0; j < kParts; ++j) o[i][j] = L::fma(L::splat(p[t]), v[j], o[i][j]);
    }
  }
  /// The same for all queries, each value read once.
  INGOT_INLINE void add_all(const float (*p)[kChunk], std::int32_t from, std::int32_t to) {
    for (std::int32_t t = from; t < to; ++t) {
      typename L::F v[kParts];
      load(v, t);
      for (int i = 0; i < kCount; ++i) {
        const auto w = L::splat(p[i][t]);
        for (int j = 0; j < kParts; ++j) o[i][j] = L::fma(w, v[j], o[i][j]);
      }
    }
  }
};

/// o = o * factor, then o += p * v over each query's visible positions, ascending.
template <class L, KvType kType, int kCount, int kParts>
INGOT_INLINE void add_values(const AttentionArgs& a, const ChunkPass<kCount>& c, int part,
                             const float (*p)[kChunk], const float* factor, SoftmaxStates& state) {
  const std::byte* values[kChunkBlocks];
  for (int b = 0; b < kChunkBlocks; ++b) {
    values[b] = c.block(a, b) + a.v_offset + part * 16 * kKvBytes<kType>;
  }
  const std::int64_t row_bytes = (a.head_dim + 15) / 16 * 16 * kKvBytes<kType>;
  ValueSums<L, kType, kCount, kParts> sums{a, values, row_bytes, {}};
  const ChunkView common = common_view(c);
  for (int i = 0; i < kCount; ++i) {
    for (int j = 0; j < kParts; ++j) {
      sums.o[i][j] = L::mul(L::load(state.o[c.query + i] + 16 * (part + j)), L::splat(factor[i]));
    }
    const ChunkView& v = c.view[i];
    sums.add_one(i, p[i], v.from, v.to < common.from ? v.to : common.from);
  }
  sums.add_all(p, common.from, common.to);
  for (int i = 0; i < kCount; ++i) {
    const ChunkView& v = c.view[i];
    sums.add_one(i, p[i], v.from > common.to ? v.from : common.to, v.to);
    for (int j = 0; j < kParts; ++j) {
      L::store(state.o[c.query + i] + 16 * (part + j), sums.o[i][j]);
    }
  }
}

/// Takes a chunk into the states of the pass's queries.
template <class L, KvType kType, int kCount>
void add_chunk(const AttentionArgs& a, const ChunkPass<kCount>& c, const float (*q)[kHeadDimLimit],
               SoftmaxStates& state) {
  typename L::F s[kCount][kChunkBlocks];
  alignas(64) float p[kCount][kChunk];
  float factor[kCount];
  chunk_scores<L, kType, kCount>(a, c, q, s);
  for (int i = 0; i < kCount; ++i) {
    const int query = c.query + i;
    factor[i] = chunk_weights<L>(c.view[i], s[i], p[i], state.m[query], state.l[query]);
  }
  const int parts = (a.head_dim + 15) / 16;
  int part = 0;
  for (; part + 2 <= parts; part += 2) {
    add_values<L, kType, kCount, 2>(a, c, part, p, factor, state);
  }
  if (part < parts) add_values<L, kType, kCount, 1>(a, c, part, p, factor, state);
}

/// Takes a chunk into the states of queries [query, query + kCount), of which some may see nothing
/// of it: their states stay as they are.
template <class L, KvType kType, int kCount>
void add_chunk_to(const AttentionArgs& a, std::int32_t start, int query,
                  const float (*q)[kHeadDimLimit], SoftmaxStates& state) {
  ChunkPass<kCount> pass{.start = start, .query = query, .view = {}};
  int seeing = 0;
  for (int i = 0; i < kCount; ++i) {
    pass.view[i] = view_of(a, query + i, start);
    seeing += pass.view[i].empty() ? 0 : 1;
  }
  if (seeing == kCount) return add_chunk<L, kType, kCount>(a, pass, q, state);
  if constexpr (kCount > 1) {
    for (int i = 0; seeing > 0 && i < kCount; ++i) {
      add_chunk_to<L, kType, 1>(a, start, query + i, q, state);
    }
  }
}

/// Folds a later split of a query into its total.
template <class L>
INGOT_INLINE void fold(const SoftmaxStates& later, int query, int cols, SoftmaxStates& total) {
  const float m = OneLane::max(total.m[query], later.m[query]);
  const float a1 = math::exp(total.m[query] - m);
  const float a2 = math::exp(later.m[query] - m);
  for (int i = 0; i < cols; i += 16) {
    float* o = total.o[query] + i;
    const auto first = L::mul(L::load(o), L::splat(a1));
    L::store(o, L::fma(L::load(later.o[query] + i), L::splat(a2), first));
  }
  total.l[query] = __builtin_fmaf(later.l[query], a2, total.l[query] * a1);
  total.m[query] = m;
}

/// One split of all queries.
template <class L, KvType kType>
void add_split(const AttentionArgs& a, std::int32_t at, std::int32_t last,
               const float (*q)[kHeadDimLimit], SoftmaxStates& split) {
  const int queries = a.rows * a.heads;
  const std::int32_t end = last < at + kSplit ? last : at + kSplit;
  for (std::int32_t start = at; start < end; start += kChunk) {
    int i = 0;
    for (; i + L::kQueries <= queries; i += L::kQueries) {
      add_chunk_to<L, kType, L::kQueries>(a, start, i, q, split);
    }
    for (; i < queries; ++i) add_chunk_to<L, kType, 1>(a, start, i, q, split);
  }
}

template <class L, KvType kType>
void attend(const AttentionArgs& a) {
  const int queries = a.rows * a.heads;
  const int cols = (a.head_dim + 15) / 16 * 16;
  float q[kQueriesLimit][kHeadDimLimit];
  bool have_total[kQueriesLimit] = {};
  std::int32_t first = a.first[0];
  std::int32_t last = a.last[0];
  for (int i = 0; i < queries; ++i) {
    const float* row = a.q + i / a.heads * a.q_stride + i % a.heads * a.head_dim;
    for (std::int32_t d = 0; d < a.head_dim; ++d) q[i][d] = row[d] * a.scale;
    if (a.first[i / a.heads] < first) first = a.first[i / a.heads];
    if (a.last[i / a.heads] > last) last = a.last[i / a.heads];
  }

  SoftmaxStates total, split;
  for (std::int32_t at = first / kSplit * kSplit; at < last; at += kSplit) {
    for (int i = 0; i < queries; ++i) split.clear(i, cols);
    add_split<L, kType>(a, at, last, q, split);
    for (int i = 0; i < queries; ++i) {
      const int row = i / a.heads;
      if (a.last[row] <= at || a.first[row] >= at + kSplit) continue;
      if (have_total[i]) {
        fold<L>(split, i, cols, total);
        continue;
      }
      have_total[i] = true;
      total.m[i] = split.m[i];
      total.l[i] = split.l[i];
      for (int d = 0; d < cols; ++d) total.o[i][d] = split.o[i][d];
    }
  }
  for (int i = 0; i < queries; ++i) {
    float* out = a.out + i / a.heads * a.out_stride + i % a.heads * a.head_dim;
    const auto inv = L::splat(1.0f / total.l[i]);
    for (int d = 0; d < a.head_dim; d += 16) {
      const int left = a.head_dim - d;
      L::store(out + d, L::mul(L::load(total.o[i] + d), inv), left < 16 ? left : 16);
    }
  }
}

template <class L>
void attention_heads(const AttentionArgs& a) {
  switch (a.type) {
    case KvType::kF32:
      return attend<L, KvType::kF32>(a);
    case KvType::kF16:
      return attend<L, KvType::kF16>(a);
    case KvType::kBF16:
      return attend<L, KvType::kBF16>(a);
  }
}

}  // namespace
}  // namespace ingot
