// A chunk of 64 keys and the queries that see some of it: backend.h, `attention`.
//
// Written over a lanes type L; a lane is a position. What does not depend on how keys and values
// are stored.
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
    if (at + kBlockTokens <= view.from || at >= view.to) {
      L::store(p + at, L::splat(0));
      continue;
    }
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

}  // namespace
}  // namespace ingot
