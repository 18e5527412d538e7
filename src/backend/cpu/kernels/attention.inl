// Attention kernel: query heads over paged keys and values (backend.h, `attention`).
//
// Written over a lanes type L; included by the file of each instruction set. The queries of a pass
// share each read of keys and values. No sum crosses queries, so results do not depend on how
// queries are divided into passes.
#pragma once

#include "backend/cpu/kernels/attention_bf16.inl"
#include "backend/cpu/kernels/attention_float.inl"
#include "backend/cpu/kernels/attention_int8.inl"

namespace ingot {
namespace {

/// The form in which a pass reads its queries. attention_tiles.inl has a form for lanes with tiles.
template <class L, KvType kType>
struct QueriesOf {
  using Type = FloatQueries;
};
template <class L>
struct QueriesOf<L, KvType::kBF16> {
  using Type = RoundedQueries;
};
template <class L>
struct QueriesOf<L, KvType::kInt8> {
  using Type = QuantisedQueries;
};
template <class L, KvType kType>
using Queries = typename QueriesOf<L, kType>::Type;

/// Queries [first, end) of a kv head, numbered within the head.
struct QueryRange {
  int first = 0;
  int end = 0;
};

INGOT_INLINE QueryRange all_queries(const AttentionArgs& a) { return {0, queries_of_head(a)}; }

/// Calls fn(pass) for queries [query, query + kCount) of a head together. If some of them see no
/// key of the chunk, calls it for smaller parts, down to single queries that see a key.
template <int kCount, class Fn>
INGOT_INLINE void with_pass(const AttentionArgs& a, const HeadChunk& chunk, int query,
                            const Fn& fn) {
  ChunkPass<kCount> pass{.chunk = chunk, .query = chunk.first_query + query, .view = {}};
  int seeing = 0;
  for (int i = 0; i < kCount; ++i) {
    pass.view[i] = view_of(a, (query + i) / a.heads, chunk.start);
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

/// Calls fn(pass) for those of a head's queries that see a key of the chunk: kTogether in a pass,
/// and fewer in the last passes.
template <int kTogether, class Fn>
INGOT_INLINE void each_pass(const AttentionArgs& a, const HeadChunk& chunk,
                            const QueryRange& queries, const Fn& fn) {
  int i = queries.first;
  for (; i + kTogether <= queries.end; i += kTogether) with_pass<kTogether>(a, chunk, i, fn);
  if constexpr (kTogether > 6) {
    for (; i + 6 <= queries.end; i += 6) with_pass<6>(a, chunk, i, fn);
  }
  if constexpr (kTogether > 4) {
    for (; i + 4 <= queries.end; i += 4) with_pass<4>(a, chunk, i, fn);
  }
  if constexpr (kTogether > 2) {
    for (; i + 2 <= queries.end; i += 2) with_pass<2>(a, chunk, i, fn);
  }
  for (; i < queries.end; ++i) with_pass<1>(a, chunk, i, fn);
}

template <int kTogether, class Fn>
INGOT_INLINE void each_pass(const AttentionArgs& a, const HeadChunk& chunk, const Fn& fn) {
  each_pass<kTogether>(a, chunk, all_queries(a), fn);
}

/// Adds a head's chunk of 8-bit integers to the states of the queries that see a key of it.
template <class L>
void add_int8_chunk(const AttentionArgs& a, const HeadChunk& chunk, const QuantisedQueries& q,
                    ChunkWeights& w, SoftmaxStates& state) {
  each_pass<L::kInt8Queries>(a, chunk, [&](const auto& pass) {
    int8_scores<L>(a, pass, q, w);
    add_position_biases<L>(a, pass, w);
    chunk_weights<L, false>(pass, w, state);
  });
  each_pass<L::kInt8Queries>(a, chunk,
                             [&](const auto& pass) { add_int8_values<L>(a, pass, w, state); });
}

/// Computes the weights of a head's chunk of BF16 for the queries that see a key of it.
template <class L>
void weigh_bf16_chunk(const AttentionArgs& a, const HeadChunk& chunk, const QueryRange& queries,
                      const RoundedQueries& q, ChunkWeights& w, SoftmaxStates& state) {
  each_pass<L::kQueries>(a, chunk, queries, [&](const auto& pass) {
    bf16_scores<L>(a, pass, q, w);
    prefetch_during_softmax(a, pass);
    add_position_biases<L>(a, pass, w);
    chunk_weights<L, true>(pass, w, state);
    set_factors<L>(pass, w);
  });
}

/// Adds a head's chunk of weighted BF16 values to the states of the queries that see a key of it.
template <class L>
void add_bf16_chunk_values(const AttentionArgs& a, const HeadChunk& chunk,
                           const QueryRange& queries, const ChunkWeights& w, SoftmaxStates& state) {
  each_pass<L::kQueries>(a, chunk, queries,
                         [&](const auto& pass) { add_bf16_values<L>(a, pass, w, state); });
}

/// Adds a head's chunk of BF16 to the states of the queries that see a key of it.
template <class L>
void add_bf16_chunk(const AttentionArgs& a, const HeadChunk& chunk, const RoundedQueries& q,
                    ChunkWeights& w, SoftmaxStates& state) {
  weigh_bf16_chunk<L>(a, chunk, all_queries(a), q, w, state);
  add_bf16_chunk_values<L>(a, chunk, all_queries(a), w, state);
}

/// Adds a head's chunk of floats to the states of the queries that see a key of it.
template <class L, KvType kType>
void add_float_chunk(const AttentionArgs& a, const HeadChunk& chunk, const FloatQueries& q,
                     ChunkWeights& w, SoftmaxStates& state) {
  each_pass<L::kQueries>(a, chunk, [&]<int kCount>(const ChunkPass<kCount>& pass) {
    chunk_scores<L, kType>(a, pass, q, w);
    prefetch_during_softmax(a, pass);
    add_position_biases<L>(a, pass, w);
    chunk_weights<L, false>(pass, w, state);
  });
  each_pass<L::kQueries>(a, chunk,
                         [&](const auto& pass) { add_values<L, kType>(a, pass, w, state); });
}

/// The keys [first, last) that at least one query of a call sees.
struct KeysOfCall {
  std::int32_t first;
  std::int32_t last;

  INGOT_INLINE explicit KeysOfCall(const AttentionArgs& a) : first(a.first[0]), last(a.last[0]) {
    for (int row = 1; row < a.rows; ++row) {
      if (a.first[row] < first) first = a.first[row];
      if (a.last[row] > last) last = a.last[row];
    }
  }
};

/// Rounds up to a multiple of `step`.
INGOT_INLINE int padded(int elements, int step) { return (elements + step - 1) / step * step; }

/// Number of elements in a query, with the padding that the KV type needs.
INGOT_INLINE int query_cols(const AttentionArgs& a) {
  return padded(a.head_dim, a.type == KvType::kInt8 || a.type == KvType::kBF16 ? 32 : 16);
}

/// Number of elements in a query's sum of values, with padding.
INGOT_INLINE int value_cols(const AttentionArgs& a) {
  return padded(a.value_dim, a.type == KvType::kInt8 ? kGroup : 16);
}

/// Prefetches the queries of a call. Their rows lie too far apart for the processor to predict the
/// next read.
INGOT_INLINE void prefetch_queries(const AttentionArgs& a) {
  const std::int64_t floats = std::int64_t{a.kv_heads} * a.heads * a.head_dim;
  for (int row = 0; row < a.rows; ++row) {
    const float* q = a.q + row * a.q_stride;
    for (std::int64_t i = 0; i < floats; i += kLineFloats) prefetch_line(q + i);
  }
}

/// Prefetches the lines of a call's outputs. Their rows, too, lie far apart.
INGOT_INLINE void prefetch_attention_outputs(const AttentionArgs& a) {
  const std::int64_t floats = std::int64_t{a.kv_heads} * a.heads * a.value_dim;
  for (int row = 0; row < a.rows; ++row) {
    const float* out = a.out + row * a.out_stride;
    for (std::int64_t i = 0; i < floats; i += kLineFloats) prefetch_to_write(out + i);
  }
}

/// The queries of `a`, multiplied by the scale.
template <class L, class Q>
INGOT_INLINE void set_queries(const AttentionArgs& a, Q& q) {
  prefetch_queries(a);
  const int cols = query_cols(a);
  for (int i = 0; i < queries_of(a); ++i) {
    const std::int64_t column = std::int64_t{head_of(a, i)} * a.head_dim;
    const float* row = a.q + row_of(a, i) * a.q_stride + column;
    float scaled[kHeadDimLimit];
    for (int d = 0; d < cols; ++d) scaled[d] = d < a.head_dim ? row[d] * a.scale : 0;
    q.template set<L>(i, scaled);
  }
}

/// Computes the states of all queries after the split that begins at `at`.
template <class L, KvType kType>
void run_split(const AttentionArgs& a, std::int32_t at, const KeysOfCall& keys,
               const Queries<L, kType>& q, SoftmaxStates& split) {
  for (int i = 0; i < queries_of(a); ++i) split.clear(i);
  ChunkWeights w;
  const std::int32_t end = keys.last < at + kSplit ? keys.last : at + kSplit;
  for (std::int32_t start = at; start < end; start += kChunk) {
    const Chunk chunk(a, start, keys.first, keys.last);
    for (int head = 0; head < a.kv_heads; ++head) {
      const HeadChunk of_head(a, chunk, head);
      if constexpr (kType == KvType::kInt8) {
        add_int8_chunk<L>(a, of_head, q, w, split);
      } else if constexpr (kType == KvType::kBF16) {
        add_bf16_chunk<L>(a, of_head, q, w, split);
      } else {
        add_float_chunk<L, kType>(a, of_head, q, w, split);
      }
    }
  }
}

/// Adds the state of a later split to a query's total state.
template <class L>
INGOT_INLINE void fold(const SoftmaxStates& later, int query, SoftmaxStates& total) {
  const float m = OneLane::max(total.m[query], later.m[query]);
  const float a1 = math::exp(total.m[query] - m);
  const float a2 = math::exp(later.m[query] - m);
  for (int i = 0; i < total.o.cols; i += 16) {
    float* o = total.o[query] + i;
    const auto first = L::mul(L::load(o), L::splat(a1));
    L::store(o, L::fma(L::load(later.o[query] + i), L::splat(a2), first));
  }
  total.l[query] = __builtin_fmaf(later.l[query], a2, total.l[query] * a1);
  total.m[query] = m;
}

/// The total states of a call's queries, to which splits are added in order.
template <class L>
class Totals {
 public:
  INGOT_INLINE explicit Totals(int cols) : states_(cols) {}

  /// Adds the split that begins at key `at`, for the queries that see a key of it.
  INGOT_INLINE void fold_in(const AttentionArgs& a, std::int32_t at, const SoftmaxStates& split) {
    for (int i = 0; i < queries_of(a); ++i) {
      const int row = row_of(a, i);
      if (a.last[row] <= at || a.first[row] >= at + kSplit) continue;
      if (have_[i]) {
        fold<L>(split, i, states_);
        continue;
      }
      have_[i] = true;
      states_.m[i] = split.m[i];
      states_.l[i] = split.l[i];
      for (int d = 0; d < split.o.cols; ++d) states_.o[i][d] = split.o[i][d];
    }
  }
  INGOT_INLINE void write_outputs(const AttentionArgs& a) {
    for (int i = 0; a.sinks != nullptr && i < queries_of(a); ++i)
      join_sink(i, a.sinks[head_of(a, i)]);
    for (int i = 0; i < queries_of(a); ++i) {
      const std::int64_t column = std::int64_t{head_of(a, i)} * a.value_dim;
      float* out = a.out + row_of(a, i) * a.out_stride + column;
      const auto inv = L::splat(1.0f / states_.l[i]);
      for (int d = 0; d < a.value_dim; d += 16) {
        const int left = a.value_dim - d;
        L::store(out + d, L::mul(L::load(states_.o[i] + d), inv), left < 16 ? left : 16);
      }
    }
  }

 private:
  /// Adds a sink to a query's denominator.
  INGOT_INLINE void join_sink(int query, float sink) {
    const float m = OneLane::max(states_.m[query], sink);
    const float factor = math::exp(states_.m[query] - m);
    states_.l[query] = __builtin_fmaf(states_.l[query], factor, math::exp(sink - m));
    float* o = states_.o[query];
    for (int d = 0; d < states_.o.cols; d += 16) {
      L::store(o + d, L::mul(L::load(o + d), L::splat(factor)));
    }
  }

  SoftmaxStates states_;
  bool have_[kQueriesLimit] = {};
};

template <class L, KvType kType>
void attend(const AttentionArgs& a) {
  Queries<L, kType> q(query_cols(a), queries_of(a));
  set_queries<L>(a, q);
  const KeysOfCall keys(a);
  Totals<L> total(value_cols(a));
  SoftmaxStates split(value_cols(a));
  for (std::int32_t at = keys.first / kSplit * kSplit; at < keys.last; at += kSplit) {
    if (at + kSplit >= keys.last) prefetch_attention_outputs(a);  // not so early that they leave
    run_split<L, kType>(a, at, keys, q, split);
    total.fold_in(a, at, split);
  }
  total.write_outputs(a);
}

template <class L, KvType kType>
void attend_split(const AttentionArgs& a, std::int32_t number, float* states) {
  const int cols = value_cols(a);
  Queries<L, kType> q(query_cols(a), queries_of(a));
  set_queries<L>(a, q);
  SoftmaxStates split(cols);
  run_split<L, kType>(a, number * kSplit, KeysOfCall(a), q, split);
  const std::int64_t floats = attention_state_floats(a.value_dim);
  for (int i = 0; i < queries_of(a); ++i, states += floats) {
    for (int d = 0; d < cols; ++d) states[d] = split.o[i][d];
    states[floats - 2] = split.m[i];
    states[floats - 1] = split.l[i];
  }
}

template <class L>
void attention_join(const AttentionArgs& a, const float* states, std::int64_t stride) {
  const int cols = value_cols(a);
  const KeysOfCall keys(a);
  const std::int64_t floats = attention_state_floats(a.value_dim);
  Totals<L> total(cols);
  SoftmaxStates split(cols);
  for (std::int32_t at = keys.first / kSplit * kSplit; at < keys.last; at += kSplit) {
    for (int i = 0; i < queries_of(a); ++i) {
      const float* state = states + i * floats;
      for (int d = 0; d < cols; ++d) split.o[i][d] = state[d];
      split.m[i] = state[floats - 2];
      split.l[i] = state[floats - 1];
    }
    states += stride;
    total.fold_in(a, at, split);
  }
  total.write_outputs(a);
}

/// Calls fn with the KV type of `a` as a compile-time constant.
template <class Fn>
INGOT_INLINE void with_type(KvType type, const Fn& fn) {
  switch (type) {
    case KvType::kF32:
      return fn.template operator()<KvType::kF32>();
    case KvType::kF16:
      return fn.template operator()<KvType::kF16>();
    case KvType::kBF16:
      return fn.template operator()<KvType::kBF16>();
    case KvType::kInt8:
      return fn.template operator()<KvType::kInt8>();
  }
}

template <class L>
void attention_heads(const AttentionArgs& a) {
  with_type(a.type, [&]<KvType kType>() { attend<L, kType>(a); });
}

template <class L>
void attention_split(const AttentionArgs& a, std::int32_t split, float* states) {
  with_type(a.type, [&]<KvType kType>() { attend_split<L, kType>(a, split, states); });
}

}  // namespace
}  // namespace ingot
