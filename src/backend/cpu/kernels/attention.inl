// Attention of query heads over paged keys and values: backend.h, `attention`.
//
// Written over a lanes type L; included by the file of each instruction set. A lane is a position
// for scores (keys are stored [D][16 tokens]) and an element of the head for outputs (values are
// stored [16 tokens][D]).
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

/// The running state of an online softmax: largest score, sum of weights, weighted sum of values.
template <class L>
struct SoftmaxState {
  float m = -__builtin_inff();
  float l = 0;
  typename L::F o[kHeadDimLimit / 16];
};

template <class L, KvType kType>
INGOT_INLINE typename L::F load_kv(const std::byte* p) {
  if constexpr (kType == KvType::kF32) return L::load(reinterpret_cast<const float*>(p));
  if constexpr (kType == KvType::kF16) return L::load_half(p);
  if constexpr (kType == KvType::kBF16) return L::load_bfloat16(p);
}

template <KvType kType>
inline constexpr std::int64_t kKvBytes = kType == KvType::kF32 ? 4 : 2;

/// The part of a chunk that a row sees: positions [from, to) of it.
struct ChunkView {
  std::int32_t start = 0;  ///< position of the chunk's first key
  std::int32_t from = 0;
  std::int32_t to = 0;
};

template <class L>
INGOT_INLINE typename L::F cap_scores(typename L::F s, float cap) {
  if (cap == 0) return s;
  const auto c = L::splat(cap);
  return L::mul(c, math::tanh_lanes<L>(L::div(s, c)));
}

/// Scores of the visible positions of a chunk, by blocks of 16; unseen lanes are -inf.
template <class L, KvType kType>
INGOT_INLINE float chunk_scores(const AttentionArgs& a, const float* q, const ChunkView& c,
                                typename L::F* s) {
  const auto nothing = L::splat(-__builtin_inff());
  auto largest = nothing;
  for (int b = 0; b < kChunkBlocks; ++b) {
    const std::int32_t at = b * kBlockTokens;
    s[b] = nothing;
    if (at + kBlockTokens <= c.from || at >= c.to) continue;
    const std::int64_t block = a.table[(c.start + at) / kBlockTokens];
    const std::byte* k = a.pages + block * a.block_bytes + a.k_offset;
    auto acc = L::splat(0);
    for (std::int32_t d = 0; d < a.head_dim; ++d) {
      acc = L::fma(L::splat(q[d]), load_kv<L, kType>(k + d * kBlockTokens * kKvBytes<kType>), acc);
    }
    acc = cap_scores<L>(acc, a.score_cap);
    const int first = c.from > at ? c.from - at : 0;
    const int last = c.to < at + kBlockTokens ? c.to - at : kBlockTokens;
    acc = blend<L>(acc, last, nothing);
    s[b] = blend<L>(nothing, first, acc);
    largest = L::max(s[b], largest);
  }
  return L::max_lane(largest);
}

/// o += p * v over the visible positions of a chunk, ascending.
template <class L, KvType kType>
INGOT_INLINE void add_values(const AttentionArgs& a, const ChunkView& c, const float* p,
                             typename L::F factor, typename L::F* o) {
  const int parts = (a.head_dim + 15) / 16;
  const std::int64_t row_bytes = parts * 16 * kKvBytes<kType>;
  for (int part = 0; part < parts; ++part) {
    auto sum = L::mul(o[part], factor);
    for (std::int32_t t = c.from; t < c.to; ++t) {
      const std::int64_t block = a.table[(c.start + t) / kBlockTokens];
      const std::byte* v = a.pages + block * a.block_bytes + a.v_offset +
                           (t % kBlockTokens) * row_bytes + part * 16 * kKvBytes<kType>;
      sum = L::fma(L::splat(p[t]), load_kv<L, kType>(v), sum);
    }
    o[part] = sum;
  }
}

template <class L, KvType kType>
INGOT_INLINE void add_chunk(const AttentionArgs& a, const float* q, const ChunkView& c,
                            SoftmaxState<L>& state) {
  typename L::F s[kChunkBlocks];
  float p[kChunk];
  const float chunk_max = chunk_scores<L, kType>(a, q, c, s);
  const float m = OneLane::max(state.m, chunk_max);
  auto lanes = L::splat(0);
  for (int b = 0; b < kChunkBlocks; ++b) {
    const std::int32_t at = b * kBlockTokens;
    if (at + kBlockTokens <= c.from || at >= c.to) continue;
    auto w = math::exp_lanes<L>(L::sub(s[b], L::splat(m)));
    // Unseen lanes are -inf - m: +0 unless m is not finite, in which case the row is lost anyway
    // but stays NaN for the same reason on every path.
    L::store(p + at, w);
    lanes = L::add(lanes, w);
  }
  const float a1 = math::exp(state.m - m);
  state.l = __builtin_fmaf(state.l, a1, L::tree(lanes));
  add_values<L, kType>(a, c, p, L::splat(a1), state.o);
  state.m = m;
}

/// Folds a later split into the total.
template <class L>
INGOT_INLINE void fold(const SoftmaxState<L>& later, int parts, SoftmaxState<L>& total) {
  const float m = OneLane::max(total.m, later.m);
  const float a1 = math::exp(total.m - m);
  const float a2 = math::exp(later.m - m);
  for (int i = 0; i < parts; ++i) {
    total.o[i] = L::fma(later.o[i], L::splat(a2), L::mul(total.o[i], L::splat(a1)));
  }
  total.l = __builtin_fmaf(later.l, a2, total.l * a1);
  total.m = m;
}

template <class L, KvType kType>
void attend_head(const AttentionArgs& a, std::int32_t head) {
  const int parts = (a.head_dim + 15) / 16;
  float q[kHeadDimLimit];
  for (std::int32_t d = 0; d < a.head_dim; ++d) q[d] = a.q[head * a.head_dim + d] * a.scale;

  SoftmaxState<L> total, split;
  bool have_total = false;
  for (std::int32_t at = a.first / kSplit * kSplit; at < a.last; at += kSplit) {
    split.m = -__builtin_inff();
    split.l = 0;
    for (int i = 0; i < parts; ++i) split.o[i] = L::splat(0);
    for (std::int32_t start = at; start < at + kSplit && start < a.last; start += kChunk) {
      const std::int32_t from = a.first > start ? a.first - start : 0;
      const std::int32_t to = a.last - start < kChunk ? a.last - start : kChunk;
      if (from < to) add_chunk<L, kType>(a, q, {.start = start, .from = from, .to = to}, split);
    }
    if (have_total) {
      fold<L>(split, parts, total);
    } else {
      total = split;
      have_total = true;
    }
  }
  const auto inv = L::splat(1.0f / total.l);
  for (int i = 0; i < parts; ++i) {
    const int left = a.head_dim - 16 * i;
    L::store(a.out + head * a.head_dim + 16 * i, L::mul(total.o[i], inv), left < 16 ? left : 16);
  }
}

template <class L, KvType kType>
void attend(const AttentionArgs& a) {
  for (std::int32_t head = 0; head < a.heads; ++head) attend_head<L, kType>(a, head);
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
