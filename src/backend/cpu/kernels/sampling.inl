// Sampling kernels over a row of logits: find its largest elements, and compute their weights.
//
// Written over a lanes type L; included by the file of each instruction set. host_kernels.h states
// what the kernels compute.
#pragma once

#include <cstdint>

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/rows.inl"
#include "backend/cpu/kernels/tail_lanes.inl"
#include "base/inline.h"
#include "base/math.h"

namespace ingot {
namespace {

/// The largest element of each column of a span. Sets lanes of `lost` to 1 if their column has NaN.
template <class L>
INGOT_INLINE typename L::F span_tops(const float* x, std::int64_t n, typename L::F& lost) {
  const auto none = L::splat(-__builtin_inff());
  auto tops = none;
  for_vectors(n, [&](std::int64_t i, int k) {
    const auto v = k == 16 ? L::load(x + i) : load_or<L>(x + i, k, none);
    lost = L::select(L::le(v, v), lost, L::splat(1));
    tops = L::max(v, tops);  // keeps `tops` where v is NaN
  });
  return tops;
}

INGOT_INLINE std::int64_t span_length(std::int64_t n, std::int64_t first) {
  return n - first < kSpan ? n - first : kSpan;
}

template <class L>
float scan_row(const float* x, std::int64_t n, float* tops) {
  auto lost = L::splat(0);
  auto largest = L::splat(-__builtin_inff());
  for (std::int64_t first = 0; first < n; first += kSpan, tops += 16) {
    const auto t = span_tops<L>(x + first, span_length(n, first), lost);
    L::store(tops, t);
    largest = L::max(t, largest);
  }
  return L::max_lane(lost) > 0 ? __builtin_nanf("") : L::max_lane(largest);
}

/// Finds the first span with the largest element, then the element.
template <class L>
std::int32_t argmax_row(const float* x, std::int64_t n) {
  auto lost = L::splat(0);
  float best = -__builtin_inff();
  std::int64_t at = 0;
  for (std::int64_t first = 0; first < n; first += kSpan) {
    const float top = L::max_lane(span_tops<L>(x + first, span_length(n, first), lost));
    if (top > best) {
      best = top;
      at = first;
    }
  }
  if (n == 0 || L::max_lane(lost) > 0) return -1;
  while (x[at] != best) ++at;
  return static_cast<std::int32_t>(at);
}

/// Whether L has store_chosen, which stores chosen lanes without gaps.
template <class L>
constexpr bool kStoresChosen = requires(typename L::F v, float* x, std::int32_t* n) {
  L::store_chosen(0u, v, 0, x, n);
};

template <class L>
std::int64_t collect_row(const float* x, const float* tops, std::int64_t n, float least,
                         float* found, std::int32_t* ids) {
  constexpr std::uint32_t kAll = 0xFFFF;
  const auto bound = L::splat(least);
  std::int64_t count = 0;
  for (std::int64_t first = 0; first < n; first += kSpan, tops += 16) {
    if (L::to_bits(L::le(bound, L::load(tops))) == 0) continue;
    for_vectors(span_length(n, first), [&](std::int64_t i, int k) {
      const auto v = L::load(x + first + i, k);
      std::uint32_t bits = L::to_bits(L::le(bound, v)) & (kAll >> (16 - k));
      const auto id = static_cast<std::int32_t>(first + i);
      if constexpr (kStoresChosen<L>) {
        if (k == 16) {  // 16 places from `count` on lie within the row
          L::store_chosen(bits, v, id, found + count, ids + count);
          count += __builtin_popcount(bits);
          return;
        }
      } else if (bits == kAll) {
        L::store(found + count, v);
        for (std::int32_t l = 0; l < 16; ++l) ids[count + l] = id + l;
        count += 16;
        return;
      }
      for (; bits != 0; bits &= bits - 1, ++count) {
        const int l = __builtin_ctz(bits);
        found[count] = x[first + i + l];
        ids[count] = id + l;
      }
    });
  }
  return count;
}

template <class L>
void weigh_row(const float* x, std::int64_t n, float largest, float scale, float* weights,
               float* sums) {
  const auto top = L::splat(largest);
  const auto factor = L::splat(scale);
  for (std::int64_t first = 0; first < n; first += kSpan) {
    auto lanes = L::splat(0);
    for_vectors(span_length(n, first), [&](std::int64_t i, int k) {
      const auto d = L::sub(L::load(x + first + i, k), top);
      const auto w = math::exp_lanes<L>(L::mul(d, factor));
      if (weights != nullptr) L::store(weights + first + i, w, k);
      lanes = L::add(lanes, k == 16 ? w : first_lanes<L>(w, k));
    });
    if (sums != nullptr) *sums++ = L::tree(lanes);
  }
}

}  // namespace
}  // namespace ingot
