// Attention scores and sums of values over pages of 8-bit integers (backend.h, KvType::kInt8).
//
// Written over a lanes type L. A kv head of a block is two panels of 16 columns, as in `linear`. In
// keys a column is a token and K is the head's elements. In values a column is an element and K is
// the tokens. Keys are stored as q + 128, because queries are signed; values are stored as q,
// because weights are unsigned. The scales of 16 tokens lie side by side (Int8Page).
#pragma once

#include "backend/cpu/kernels/attention_chunk.inl"
#include "backend/cpu/kernels/rows.inl"

namespace ingot {
namespace {

inline constexpr int kGroupsLimit = kHeadDimLimit / kGroup;

/// Bytes q + 128 in the form that `dot_shifted` multiplies. If L multiplies wide signed bytes this
/// is q; else it is q + 128, and `correction_of` subtracts 128 times the sum of the other operand.
template <class L>
INGOT_INLINE typename L::B load_shifted(const std::byte* p) {
  const auto bytes = L::load_bytes(p);
  if constexpr (L::kWideSigned) return L::flip_sign(bytes);
  return bytes;
}

template <class L>
INGOT_INLINE std::int32_t correction_of(std::int32_t sum) {
  return L::kWideSigned ? 0 : -128 * sum;
}

template <class L>
INGOT_INLINE typename L::I dot_shifted(typename L::I acc, typename L::B w, const std::int8_t* x) {
  return L::template dot<L::kWideSigned>(acc, w, x);
}

/// The queries of a call, multiplied by the scale and quantised by groups of 32 elements, like rows
/// of `linear`. Elements beyond the end of the head are 0.
struct QuantisedQueries {
  QueryRows<std::int8_t> q;
  float d[kQueriesLimit][kGroupsLimit];
  std::int32_t correction[kQueriesLimit][kGroupsLimit];

  INGOT_INLINE QuantisedQueries(int cols, int /*queries*/) : q(cols) {}
  template <class L>
  INGOT_INLINE void set(int query, const float* scaled) {
    for (int at = 0; at < q.cols; at += kGroup) {
      const auto group = quantise_parts<L, 2>({L::load(scaled + at), L::load(scaled + at + 16)});
      for (int j = 0; j < 2; ++j) L::store_int8(q[query] + at + 16 * j, group.q[j]);
      d[query][at / kGroup] = group.d;
      correction[query][at / kGroup] =
          correction_of<L>(L::sum_int(L::add_int(group.q[0], group.q[1])));
    }
  }
};

/// Cache lines that a group of 32 elements takes in a block: scales, then bytes (Int8Page).
inline constexpr int kGroupLines = (4 + kGroup) * kBlockTokens / kLine;

/// Prefetches several streams of memory in order, one line of each stream at a time.
///
/// A processor has few line buffers, and memory is idle while none is in use. So callers prefetch
/// some lines during their products, and several more before code that reads no pages: the softmax
/// and the quantisation of weights.
template <int kStreams>
struct PrefetchStreams {
  const std::byte* next[kStreams];  ///< the next line of each stream

  INGOT_INLINE void prefetch(int lines) {
    for (int n = 0; n < lines; ++n) {
      for (int i = 0; i < kStreams; ++i) {
        prefetch_line(next[i]);
        next[i] += kLine;
      }
    }
  }
};

/// Scores of all positions of a chunk, whether a query sees them or not.
template <class L, int kCount>
[[gnu::noinline]] void int8_scores(const AttentionArgs& a, const ChunkPass<kCount>& c,
                                   const QuantisedQueries& x, ChunkWeights& w) {
  // A score takes an integer and a float accumulator: twice the registers.
  constexpr int kTogether =
      kCount >= L::kScoreBlocks && L::kScoreBlocks > 1 ? L::kScoreBlocks / 2 : L::kScoreBlocks;
  const Int8Page page(a.head_dim);
  const bool ahead = c.prefetches();
  constexpr int kQuads = kGroup / 4;
  constexpr int kLinesForSoftmax = 2;  // lines of a group that are prefetched before the softmax
  static_assert(kGroupLines == 1 + kQuads && kLinesForSoftmax < kQuads);
  for (int b = 0; b < kChunkBlocks; b += kTogether) {
    const std::byte* keys[kTogether];
    PrefetchStreams<kTogether> values_ahead;
    const int kept_back = b + kTogether == kChunkBlocks ? kLinesForSoftmax : 0;
    typename L::F acc[kCount][kTogether];
    for (int j = 0; j < kTogether; ++j) {
      keys[j] = c.chunk.keys[b + j];
      values_ahead.next[j] = c.chunk.values[b + j];
      for (int i = 0; i < kCount; ++i) acc[i][j] = L::splat(0);
    }
    for (int g = 0; g < page.groups; ++g) {
      typename L::I sum[kCount][kTogether];
      for (int i = 0; i < kCount; ++i) {
        for (int j = 0; j < kTogether; ++j) {
          sum[i][j] = L::splat_int(x.correction[c.query + i][g]);
        }
      }
      if (ahead) values_ahead.prefetch(1);
#pragma GCC unroll 8
      for (int n = 0; n < kQuads; ++n) {
        const int quad = kQuads * g + n;
        typename L::B k[kTogether];
        for (int j = 0; j < kTogether; ++j) {
          k[j] = load_shifted<L>(keys[j] + page.scale_bytes + 64 * quad);
        }
        if (ahead && n < kQuads - kept_back) values_ahead.prefetch(1);
        for (int i = 0; i < kCount; ++i) {
          for (int j = 0; j < kTogether; ++j) {
            sum[i][j] = dot_shifted<L>(sum[i][j], k[j], x.q[c.query + i] + 4 * quad);
          }
        }
      }
      for (int j = 0; j < kTogether; ++j) {
        const auto scale = L::load(page.scales(keys[j], g));
        for (int i = 0; i < kCount; ++i) {
          const auto t = L::mul(L::to_float(sum[i][j]), scale);
          acc[i][j] = L::fma(t, L::splat(x.d[c.query + i][g]), acc[i][j]);
        }
      }
    }
    if (ahead) values_ahead.prefetch(page.groups * kept_back);
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < kTogether; ++j) {
        w.set<L>(c.query + i, b + j, cap_scores<L>(acc[i][j], a.score_cap));
      }
    }
  }
}

/// Whether L has max_lanes_of_four.
template <class L>
inline constexpr bool kHasMaxLanes = requires(const typename L::I (&a)[4]) {
  L::max_lanes_of_four(a);
};

/// Quantised products of a chunk's weights and the scales of one group of values, all >= 0.
template <class L, int kCount>
struct QuantisedWeights {
  alignas(64) std::int8_t q[kCount][kChunk];
  float d[kCount + 16];  ///< [kCount] scales, with room for stores of whole vectors

  INGOT_INLINE QuantisedWeights(const ChunkPass<kCount>& c, const ChunkWeights& weights,
                                const float* const* scales) {
    if constexpr (kHasMaxLanes<L>) {
      constexpr int kStep = kCount < 4 ? kCount : kCount % 4 == 0 ? 4 : 3;
      static_assert(kCount % kStep == 0);
#pragma GCC unroll 8
      for (int i = 0; i < kCount; i += kStep) quantise<kStep>(c, weights, scales, i);
    } else {
      for (int i = 0; i < kCount; ++i) {
        typename L::F part[kChunkBlocks];
        multiply(c.view[i], weights.p[c.query + i], scales, part);
        const auto chunk = quantise_parts<L>(part);
        L::store_int8(q[i], chunk.q);
        d[i] = chunk.d;
      }
    }
  }

 private:
  /// Quantises for queries [first, first + kStep), at most four.
  template <int kStep>
  INGOT_INLINE void quantise(const ChunkPass<kCount>& c, const ChunkWeights& weights,
                             const float* const* scales, int first) {
    typename L::F part[kStep][kChunkBlocks];
    typename L::I lanes[4];
    for (int i = 0; i < kStep; ++i) {
      multiply(c.view[first + i], weights.p[c.query + first + i], scales, part[i]);
      lanes[i] = largest_bits(part[i]);
    }
    for (int i = kStep; i < 4; ++i) lanes[i] = lanes[0];
    const ScaleLanes<L> scale(L::max_lanes_of_four(lanes));
    alignas(64) float r[16];
    L::store(r, scale.r);
    L::store(d + first, scale.d);
    for (int i = 0; i < kStep; ++i) {
      // A value that is not finite may become any integer: d or the sum of weights is NaN then.
      const GroupScale scaled{.d = 0, .r = r[i], .zero = false};
      L::store_int8(q[first + i], scale_parts<L>(part[i], scaled).q);
    }
  }
  /// The bits of the largest part in each lane. No part is negative. The bits of NaN are larger:
  /// NaN scales have no sign bit, and the NaN of a weight is also in the sum of weights.
  INGOT_INLINE static typename L::I largest_bits(const typename L::F (&part)[kChunkBlocks]) {
    auto lanes = L::bits(part[0]);
    for (int b = 1; b < kChunkBlocks; ++b) lanes = L::max_int(lanes, L::bits(part[b]));
    return lanes;
  }
  INGOT_INLINE static void multiply(const ChunkView& view, const float* p,
                                    const float* const* scales,
                                    typename L::F (&part)[kChunkBlocks]) {
    for (int b = 0; b < kChunkBlocks; ++b) {
      part[b] = L::mul(L::load(p + b * kBlockTokens), L::load(scales[b]));
    }
    if (view.whole()) return;
    // Scales of positions that no query sees may have any value, including NaN.
    const auto zero = L::splat(0);
    for (int b = 0; b < kChunkBlocks; ++b) {
      part[b] = blend<L>(part[b], view.to - b * kBlockTokens, zero);
      part[b] = blend<L>(zero, view.from - b * kBlockTokens, part[b]);
    }
  }
};

/// o = fma(float(i), d, o * factor) for each group of values; i is the integer product of values
/// and quantised weights.
template <class L, int kCount>
[[gnu::noinline]] void add_int8_values(const AttentionArgs& a, const ChunkPass<kCount>& c,
                                       const ChunkWeights& weights, SoftmaxStates& state) {
  const Int8Page page(a.value_dim);
  const std::byte* const* blocks = c.chunk.values;
  PrefetchStreams<kChunkBlocks> keys_ahead;
  for (int b = 0; b < kChunkBlocks; ++b) keys_ahead.next[b] = c.chunk.next_keys[b];
  const bool ahead = c.prefetches();
  constexpr int kLinesBesideProducts = kChunkBlocks;  // lines of a group: one for each block
  static_assert(kLinesBesideProducts <= kGroupLines);
  for (int g = 0; g < page.groups; ++g) {
    if (ahead) keys_ahead.prefetch(kGroupLines - kLinesBesideProducts);
    // Integer sums are exact in any order: several chains hide each other's latency.
    constexpr int kChains = kCount >= L::kScoreBlocks ? 1 : L::kScoreBlocks / kCount;
    typename L::I sum[kCount][kChains][2];
    const float* scales[kChunkBlocks];
    for (int b = 0; b < kChunkBlocks; ++b) scales[b] = page.scales(blocks[b], g);
    const QuantisedWeights<L, kCount> w(c, weights, scales);
    for (int i = 0; i < kCount; ++i) {
      for (int n = 0; n < kChains; ++n) {
        for (int j = 0; j < 2; ++j) sum[i][n][j] = L::splat_int(0);
      }
    }
    for (int b = 0; b < kChunkBlocks; ++b) {
      const std::byte* values = blocks[b] + page.scale_bytes + 64 * 2 * g;
      if (ahead) keys_ahead.prefetch(1);
#pragma GCC unroll 4
      for (int quad = 0; quad < kBlockTokens / 4; ++quad, values += 4 * page.cols) {
        const typename L::B v[2] = {L::load_bytes(values), L::load_bytes(values + 64)};
        for (int i = 0; i < kCount; ++i) {
          for (int j = 0; j < 2; ++j) {
            auto& acc = sum[i][quad % kChains][j];
            acc = L::dot_signed(acc, v[j], w.q[i] + b * kBlockTokens + 4 * quad);
          }
        }
      }
    }
    for (int i = 0; i < kCount; ++i) {
      float* o = state.o[c.query + i] + kGroup * g;
      for (int j = 0; j < 2; ++j) {
        for (int n = 1; n < kChains; ++n) sum[i][0][j] = L::add_int(sum[i][0][j], sum[i][n][j]);
        const auto before = L::mul(L::load(o + 16 * j), L::splat(weights.factor[c.query + i]));
        L::store(o + 16 * j, L::fma(L::to_float(sum[i][0][j]), L::splat(w.d[i]), before));
      }
    }
  }
}

}  // namespace
}  // namespace ingot
