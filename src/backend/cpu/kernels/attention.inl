// Attention of query heads over paged keys and values: backend.h, `attention`.
//
// Written over a lanes type L; included by the file of each instruction set. Queries go through
// keys and values together, so that these are read once for all of them; no sum crosses queries, so
// who shares a pass changes nothing.
#pragma once

#include "backend/cpu/kernels/attention_float.inl"
#include "backend/cpu/kernels/attention_int8.inl"

namespace ingot {
namespace {

/// What a pass reads of its queries.
template <KvType kType>
struct QueriesOf {
  using Type = FloatQueries;
};
template <>
struct QueriesOf<KvType::kInt8> {
  using Type = QuantisedQueries;
};
template <KvType kType>
using Queries = typename QueriesOf<kType>::Type;

/// Calls fn(pass) for queries [query, query + kCount) together or, where some see nothing of the
/// chunk, in halves and at last for each of the others alone.
template <int kCount, class Fn>
INGOT_INLINE void with_pass(const AttentionArgs& a, const Chunk& chunk, int query, const Fn& fn) {
  ChunkPass<kCount> pass{.chunk = chunk, .query = query, .view = {}};
  int seeing = 0;
  for (int i = 0; i < kCount; ++i) {
    pass.view[i] = view_of(a, query + i, chunk.start);
    seeing += pass.view[i].empty() ? 0 : 1;
  }
  if (seeing == kCount) return fn(pass);
  if constexpr (kCount > 1) {
    constexpr int kPart = kCount > 6 ? kCount / 2 : 1;
    for (int i = 0; seeing > 0 && i < kCount; i += kPart) {
      with_pass<kPart>(a, chunk, query + i, fn);
    }
  }
}

/// Calls fn(pass) until all queries that see some of the chunk had their turn, kTogether in each as
/// long as there are so many.
template <int kTogether, class Fn>
INGOT_INLINE void each_pass(const AttentionArgs& a, const Chunk& chunk, const Fn& fn) {
  const int queries = a.rows * a.heads;
  int i = 0;
  for (; i + kTogether <= queries; i += kTogether) with_pass<kTogether>(a, chunk, i, fn);
  if constexpr (kTogether > 6) {
    for (; i + 6 <= queries; i += 6) with_pass<6>(a, chunk, i, fn);
  }
  if constexpr (kTogether > 4) {
    for (; i + 4 <= queries; i += 4) with_pass<4>(a, chunk, i, fn);
  }
  if constexpr (kTogether > 2) {
    for (; i + 2 <= queries; i += 2) with_pass<2>(a, chunk, i, fn);
  }
  for (; i < queries; ++i) with_pass<1>(a, chunk, i, fn);
}

/// Takes a chunk of integers into the states of the queries that see some of it.
template <class L>
void add_int8_chunk(const AttentionArgs& a, const Chunk& chunk, const QuantisedQueries& q,
                    ChunkWeights& w, SoftmaxStates& state) {
  each_pass<L::kInt8Queries>(a, chunk, [&](const auto& pass) {
    int8_scores<L>(a, pass, q, w);
    chunk_weights<L>(pass, w, state);
  });
  each_pass<L::kInt8Queries>(a, chunk,
                             [&](const auto& pass) { add_int8_values<L>(a, pass, w, state); });
}

/// The same of floats.
template <class L, KvType kType>
void add_float_chunk(const AttentionArgs& a, const Chunk& chunk, const FloatQueries& q,
                     ChunkWeights& w, SoftmaxStates& state) {
  const ChunkBlocks keys = keys_of(a, chunk), values = values_of(a, chunk);
  each_pass<L::kQueries>(a, chunk, [&]<int kCount>(const ChunkPass<kCount>& pass) {
    chunk_scores<L, kType>(a, pass, keys, q, w);
    chunk_weights<L>(pass, w, state);
  });
  each_pass<L::kQueries>(
      a, chunk, [&](const auto& pass) { add_values<L, kType>(a, pass, values, w, state); });
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

/// The split that begins at `at`, of all queries; these see keys from `first` to before `last`.
template <class L, KvType kType>
void add_split(const AttentionArgs& a, std::int32_t at, std::int32_t first, std::int32_t last,
               const Queries<kType>& q, SoftmaxStates& split) {
  ChunkWeights w;
  const std::int32_t end = last < at + kSplit ? last : at + kSplit;
  for (std::int32_t start = at; start < end; start += kChunk) {
    const Chunk chunk(a, start, first, last);
    if constexpr (kType == KvType::kInt8) {
      add_int8_chunk<L>(a, chunk, q, w, split);
    } else {
      add_float_chunk<L, kType>(a, chunk, q, w, split);
    }
  }
}

template <class L, KvType kType>
void attend(const AttentionArgs& a) {
  const int queries = a.rows * a.heads;
  constexpr int kStep = kType == KvType::kInt8 ? kGroup : 16;
  const int cols = (a.head_dim + kStep - 1) / kStep * kStep;
  Queries<kType> q(cols, queries);
  bool have_total[kQueriesLimit] = {};
  std::int32_t first = a.first[0];
  std::int32_t last = a.last[0];
  for (int i = 0; i < queries; ++i) {
    const float* row = a.q + i / a.heads * a.q_stride + i % a.heads * a.head_dim;
    float scaled[kHeadDimLimit];
    for (std::int32_t d = 0; d < cols; ++d) scaled[d] = d < a.head_dim ? row[d] * a.scale : 0;
    q.template set<L>(i, scaled);
    if (a.first[i / a.heads] < first) first = a.first[i / a.heads];
    if (a.last[i / a.heads] > last) last = a.last[i / a.heads];
  }

  SoftmaxStates total(cols), split(cols);
  for (std::int32_t at = first / kSplit * kSplit; at < last; at += kSplit) {
    for (int i = 0; i < queries; ++i) split.clear(i);
    add_split<L, kType>(a, at, first, last, q, split);
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
    case KvType::kInt8:
      return attend<L, KvType::kInt8>(a);
  }
}

}  // namespace
}  // namespace ingot
