// Kernels on single rows: quantisation, norms, rotary embedding, activations, softmax.
//
// Written over a lanes type L; included by the file of each instruction set. backend.h states their
// expression trees.
#pragma once

#include "backend/cpu/kernel_table.h"
#include "backend/cpu/kernels/tail_lanes.inl"
#include "base/inline.h"
#include "base/math.h"
#include "quant/group.h"

namespace ingot {
namespace {

/// Calls fn(offset, 16) for each 16 elements, and fn(offset, n) for the last n < 16 elements.
template <class Fn>
INGOT_INLINE void for_vectors(std::int64_t count, Fn fn) {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) fn(i, 16);
  if (i < count) fn(i, static_cast<int>(count - i));
}

/// Elements that share a scale, as integers. q * d is approximately the element.
template <class L, int kParts>
struct QuantisedParts {
  float d;
  typename L::I q[kParts];
};

/// The scale d of a group, and the factor r of its elements before they are rounded.
struct GroupScale {
  float d;
  float r;
  bool zero;  ///< whether all elements become 0, even NaN
};

/// Groups with a smaller largest magnitude become 0, as `linear` in backend.h defines.
inline constexpr float kSmallestScaled = 0x1p-100f;

/// The scale of a group, from the bits of its largest magnitude.
INGOT_INLINE GroupScale scale_of(std::int32_t largest) {
  constexpr std::int32_t kInfinity = 0x7f800000;
  const float amax = __builtin_bit_cast(float, largest);
  if (largest >= kInfinity) return {.d = __builtin_nanf(""), .r = 0, .zero = true};
  if (amax < kSmallestScaled) return {.d = 0, .r = 0, .zero = true};
  return {.d = amax / 127.0f, .r = 127.0f / amax, .zero = false};
}

/// d and r of `scale_of` for 16 groups, one in each lane. If `zero` would be set, r is 0, which
/// makes finite elements 0.
template <class L>
struct ScaleLanes {
  typename L::F d;
  typename L::F r;

  INGOT_INLINE explicit ScaleLanes(typename L::I largest) {
    const auto amax = L::from_bits(largest);
    const auto most = L::splat(127.0f);
    const auto zero = L::splat(0.0f);
    const auto tiny = L::lt(amax, L::splat(kSmallestScaled));
    const auto finite = L::lt(amax, L::splat(__builtin_inff()));
    const auto nan = L::splat(__builtin_nanf(""));
    d = L::select(finite, L::select(tiny, zero, L::div(amax, most)), nan);
    r = L::select(finite, L::select(tiny, zero, L::div(most, amax)), zero);
  }
};

/// The bits of the largest magnitude of all parts, in each lane.
template <class L, int kParts>
INGOT_INLINE typename L::I largest_lanes(const typename L::F (&part)[kParts]) {
  const auto magnitude = L::splat_int(0x7fffffff);
  auto lanes = L::and_int(L::bits(part[0]), magnitude);
  for (int j = 1; j < kParts; ++j) {
    lanes = L::max_int(lanes, L::and_int(L::bits(part[j]), magnitude));
  }
  return lanes;
}

/// Rounds the parts to integers by their scale.
template <class L, int kParts>
INGOT_INLINE QuantisedParts<L, kParts> scale_parts(const typename L::F (&part)[kParts],
                                                   const GroupScale& scale) {
  // Adding and subtracting 1.5 * 2^23 rounds to an integer, ties to even; the sum's bits hold it.
  const auto magic = L::splat(12582912.0f);
  const auto r = L::splat(scale.r);
  QuantisedParts<L, kParts> out;
  out.d = scale.d;
  for (int j = 0; j < kParts; ++j) {
    const auto scaled = scale.zero ? L::splat(0) : L::mul(part[j], r);
    out.q[j] = L::sub_int(L::bits(L::add(scaled, magic)), L::bits(magic));
  }
  return out;
}

/// Quantises x as `linear` in backend.h defines.
template <class L, int kParts>
INGOT_INLINE QuantisedParts<L, kParts> quantise_parts(const typename L::F (&part)[kParts]) {
  return scale_parts<L>(part, scale_of(L::max_int(largest_lanes<L>(part))));
}

/// Stores the sums of both halves of a row's 32 integers, in the forms that linear kernels read.
INGOT_INLINE void set_sums(std::int32_t first, std::int32_t second, int row, QuantisedGroup& g) {
  const std::int32_t minus_sum = -first - second;
  g.minus_sum_float[row] = static_cast<float>(minus_sum);
  g.bits_minus_8_sum[row] = kIntBits + 8 * minus_sum;
  g.bits_minus_128_sum[row] = kIntBits + 128 * minus_sum;
  g.minus_half[0][row] = -first;
  g.minus_half[1][row] = -second;
  g.bits_minus_128_half[0][row] = kIntBits - 128 * first;
  g.bits_minus_128_half[1][row] = -128 * second;
}

/// Writes a group of 32 integers, its scale and the sums of both halves to row `matrix_row` of 16,
/// in each layout that is not null.
INGOT_INLINE void write_group(const std::int8_t* q, float d, std::int32_t first_sum,
                              std::int32_t second_sum, int matrix_row, QuantisedGroup* group,
                              MatrixGroup* matrix) {
  const std::int32_t minus_sum = -first_sum - second_sum;
  if (group != nullptr) {
    QuantisedGroup& g = *group;
    const int row = matrix_row % kTileRows;
    for (int quad = 0; quad < 8; ++quad) __builtin_memcpy(g.q[quad][row], q + 4 * quad, 4);
    g.d[row] = d;
    set_sums(first_sum, second_sum, row, g);
  }
  if (matrix == nullptr) return;
  __builtin_memcpy(matrix->q[matrix_row], q, kGroup);
  matrix->d[matrix_row] = d;
  matrix->minus_sum_float[matrix_row] = static_cast<float>(minus_sum);
  matrix->bits_minus_128_sum[matrix_row] = kIntBits + 128 * minus_sum;
}

/// Group i, or null if `groups` is null.
template <class Group>
INGOT_INLINE Group* group_at(Group* groups, std::int64_t i) {
  return groups == nullptr ? nullptr : groups + i;
}

/// Whether L has max_int_of_four and sum_int_of_four.
template <class L>
inline constexpr bool kTakesFour = requires(const typename L::I (&a)[4], std::int32_t (&out)[4]) {
  L::sum_int_of_four(a, out);
};

/// Four groups of a row.
template <class L>
INGOT_INLINE void quantise_four(const float* x, int matrix_row, QuantisedGroup* groups,
                                MatrixGroup* matrix) {
  typename L::F part[4][2];
  typename L::I lanes[4];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 2; ++j) part[i][j] = L::load(x + 32 * i + 16 * j);
    lanes[i] = largest_lanes<L>(part[i]);
  }
  std::int32_t largest[4];
  L::max_int_of_four(lanes, largest);
  for (int i = 0; i < 4; i += 2) {
    const auto a = scale_parts<L>(part[i], scale_of(largest[i]));
    const auto b = scale_parts<L>(part[i + 1], scale_of(largest[i + 1]));
    const typename L::I four[] = {a.q[0], a.q[1], b.q[0], b.q[1]};
    alignas(64) std::int8_t q[2 * kGroup];
    L::store_int8(q, four);
    std::int32_t sums[4];
    L::sum_int_of_four(four, sums);
    write_group(q, a.d, sums[0], sums[1], matrix_row, group_at(groups, i), group_at(matrix, i));
    write_group(q + kGroup, b.d, sums[2], sums[3], matrix_row, group_at(groups, i + 1),
                group_at(matrix, i + 1));
  }
}

template <class L>
void quantise_row(const float* x, std::int64_t cols, int matrix_row, QuantisedGroup* groups,
                  MatrixGroup* matrix) {
  const std::int64_t count = cols / kGroup;
  std::int64_t i = 0;
  if constexpr (kTakesFour<L>) {
    for (; i + 4 <= count; i += 4) {
      quantise_four<L>(x + i * kGroup, matrix_row, group_at(groups, i), group_at(matrix, i));
    }
  }
  for (; i < count; ++i) {
    const float* at = x + i * kGroup;
    const auto group = quantise_parts<L, 2>({L::load(at), L::load(at + 16)});
    std::int8_t q[kGroup];
    for (int j = 0; j < 2; ++j) L::store_int8(q + 16 * j, group.q[j]);
    write_group(q, group.d, L::sum_int(group.q[0]), L::sum_int(group.q[1]), matrix_row,
                group_at(groups, i), group_at(matrix, i));
  }
}

/// Whether L has join_rows.
template <class L>
inline constexpr bool kTakesTiles = kTileRows == 4 && requires(const typename L::I (&a)[4]) {
  L::join_rows(a);
};

/// A register with one value for each row of four groups of a tile: [group][row].
struct TilePlane {
  static constexpr int kGroups = 4;
  alignas(64) std::int32_t at[kGroups][kTileRows];

  template <class L>
  INGOT_INLINE typename L::F load() const {
    return L::load(reinterpret_cast<const float*>(at));
  }
  template <class L>
  INGOT_INLINE void store(typename L::F lanes) {
    L::store(reinterpret_cast<float*>(at), lanes);
  }
};

/// Writes lanes [group][row] to the rows of `member` in four groups.
template <class L, class Member>
INGOT_INLINE void write_plane(QuantisedGroup* groups, typename L::F lanes, Member member) {
  TilePlane plane;
  plane.store<L>(lanes);
  for (int g = 0; g < TilePlane::kGroups; ++g) {
    __builtin_memcpy(member(groups[g]), plane.at[g], sizeof plane.at[g]);
  }
}

/// `set_sums` of the rows of four groups.
template <class L>
INGOT_INLINE void set_tile_sums(const TilePlane& first, const TilePlane& second,
                                QuantisedGroup* groups) {
  const auto write = [&](typename L::I lanes, auto member) {
    write_plane<L>(groups, L::from_bits(lanes), member);
  };
  const auto nothing = L::splat_int(0);
  const auto bits = L::splat_int(kIntBits);
  const auto a = L::sub_int(nothing, L::bits(first.load<L>()));
  const auto b = L::sub_int(nothing, L::bits(second.load<L>()));
  const auto both = L::add_int(a, b);
  write_plane<L>(groups, L::to_float(both), [](auto& g) { return g.minus_sum_float; });
  write(L::add_int(bits, L::template shl<3>(both)), [](auto& g) { return g.bits_minus_8_sum; });
  write(L::add_int(bits, L::template shl<7>(both)), [](auto& g) { return g.bits_minus_128_sum; });
  write(a, [](auto& g) { return g.minus_half[0]; });
  write(b, [](auto& g) { return g.minus_half[1]; });
  write(L::add_int(bits, L::template shl<7>(a)), [](auto& g) { return g.bits_minus_128_half[0]; });
  write(L::template shl<7>(b), [](auto& g) { return g.bits_minus_128_half[1]; });
}

/// The bits of the largest magnitudes of four groups of a tile's rows.
template <class L>
INGOT_INLINE TilePlane largest_of_tile(const float* x, std::int64_t stride) {
  TilePlane largest;
  for (int g = 0; g < TilePlane::kGroups; ++g) {
    typename L::I lanes[kTileRows];
    for (int row = 0; row < kTileRows; ++row) {
      const float* at = x + row * stride + g * kGroup;
      lanes[row] = largest_lanes<L, 2>({L::load(at), L::load(at + 16)});
    }
    L::max_int_of_four(lanes, largest.at[g]);
  }
  return largest;
}

/// Quantises four groups of a tile's rows. Returns false and writes nothing if `scale_of` handles a
/// group's largest magnitude as a special case.
template <class L>
INGOT_INLINE bool quantise_tile_groups(const float* x, std::int64_t stride,
                                       QuantisedGroup* groups) {
  const auto amax = largest_of_tile<L>(x, stride).template load<L>();
  const auto finite = L::to_bits(L::lt(amax, L::splat(__builtin_inff())));
  if ((finite & L::to_bits(L::le(L::splat(kSmallestScaled), amax))) != 0xffff) return false;
  TilePlane r, sums[2];
  r.store<L>(L::div(L::splat(127.0f), amax));
  for (int g = 0; g < TilePlane::kGroups; ++g, x += kGroup) {
    typename L::I q[2][kTileRows];
    for (int row = 0; row < kTileRows; ++row) {
      const float* at = x + row * stride;
      const float factor = __builtin_bit_cast(float, r.at[g][row]);
      const auto parts =
          scale_parts<L, 2>({L::load(at), L::load(at + 16)}, {.d = 0, .r = factor, .zero = false});
      for (int half = 0; half < 2; ++half) q[half][row] = parts.q[half];
    }
    for (int half = 0; half < 2; ++half) {
      const auto rows = L::join_rows(q[half]);
      static_assert(sizeof groups->q == 2 * sizeof rows);
      L::store_bytes(groups[g].q[4 * half], rows);  // four quads, half of all
      L::sum_of_rows(rows, sums[half].at[g]);
    }
  }
  write_plane<L>(groups, L::div(amax, L::splat(127.0f)), [](auto& g) { return g.d; });
  set_tile_sums<L>(sums[0], sums[1], groups);
  return true;
}

template <class L>
void quantise_tile(const float* x, std::int64_t stride, std::int64_t cols, QuantisedGroup* groups) {
  constexpr int kTogether = TilePlane::kGroups;
  const std::int64_t count = cols / kGroup;
  for (std::int64_t i = 0; i < count; i += kTogether) {
    const float* at = x + i * kGroup;
    if (i + kTogether <= count && quantise_tile_groups<L>(at, stride, groups + i)) continue;
    const std::int64_t left = count - i < kTogether ? count - i : kTogether;
    for (int row = 0; row < kTileRows; ++row) {
      quantise_row<L>(at + row * stride, left * kGroup, row, groups + i, nullptr);
    }
  }
}

template <class L>
void halve_row(const float* x, std::int64_t n, std::uint16_t* out) {
  for (std::int64_t i = 0; i < n; i += 16) L::store_half(out + i, L::load(x + i));
}

template <class L>
INGOT_INLINE float sum_of_squares(const float* x, std::int64_t n) {
  auto lanes = L::splat(0);
  for_vectors(n, [&](std::int64_t i, int k) {
    const auto v = L::load(x + i, k);
    lanes = L::fma(v, v, lanes);
  });
  return L::tree(lanes);
}

template <class L>
void scale_row(float* x, float factor, std::int64_t n) {
  const auto f = L::splat(factor);
  for_vectors(n, [&](std::int64_t i, int k) { L::store(x + i, L::mul(L::load(x + i, k), f), k); });
}

template <class L>
void normalise_row(float* x, std::int64_t n) {
  const float sum = sum_of_squares<L>(x, n);
  if (sum != 0) scale_row<L>(x, 1.0f / __builtin_sqrtf(sum), n);
}

template <class L>
void rms_norm(const float* x, const Norm& norm, std::int64_t n, float* out) {
  const float* weight = norm.weight.row<const float>(0);
  const float mean = sum_of_squares<L>(x, n) / static_cast<float>(n);
  const auto inv = L::splat(1.0f / __builtin_sqrtf(mean + norm.eps));
  for_vectors(n, [&](std::int64_t i, int k) {
    const auto y = L::mul(L::load(x + i, k), inv);
    L::store(out + i, L::mul(y, L::load(weight + i, k)), k);
  });
}

template <class L>
void layer_norm(const float* x, const Norm& norm, std::int64_t n, float* out) {
  const float* weight = norm.weight.row<const float>(0);
  const float* bias = norm.bias ? norm.bias.row<const float>(0) : nullptr;
  auto lanes = L::splat(0);
  for_vectors(n, [&](std::int64_t i, int k) { lanes = L::add(lanes, L::load(x + i, k)); });
  const auto mean = L::splat(L::tree(lanes) / static_cast<float>(n));
  lanes = L::splat(0);
  for_vectors(n, [&](std::int64_t i, int k) {
    // Lanes beyond the end of the row hold the mean, so that they add zero.
    const auto c = L::sub(k == 16 ? L::load(x + i) : load_or<L>(x + i, k, mean), mean);
    lanes = L::fma(c, c, lanes);
  });
  const float variance = L::tree(lanes) / static_cast<float>(n);
  const auto inv = L::splat(1.0f / __builtin_sqrtf(variance + norm.eps));
  for_vectors(n, [&](std::int64_t i, int k) {
    const auto y = L::mul(L::sub(L::load(x + i, k), mean), inv);
    const auto w = L::load(weight + i, k);
    L::store(out + i, bias != nullptr ? L::fma(y, w, L::load(bias + i, k)) : L::mul(y, w), k);
  });
}

template <class L>
void norm_row(float* x, const float* add, float factor, const Norm& norm, std::int64_t n,
              float* out) {
  if (add != nullptr) {
    const auto f = L::splat(factor);
    for_vectors(n, [&](std::int64_t i, int k) {
      L::store(x + i, L::fma(f, L::load(add + i, k), L::load(x + i, k)), k);
    });
  }
  if (out == nullptr) return;
  if (norm.kind == NormKind::kRms) {
    rms_norm<L>(x, norm, n, out);
  } else {
    layer_norm<L>(x, norm, n, out);
  }
}

template <class L>
void rotate_row(float* x, bool adjacent_pairs, std::int64_t dims, const float* cos,
                const float* sin) {
  const std::int64_t half = dims / 2;
  if (adjacent_pairs) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float a = x[2 * i];
      const float b = x[2 * i + 1];
      x[2 * i] = __builtin_fmaf(-b, sin[i], a * cos[i]);
      x[2 * i + 1] = __builtin_fmaf(a, sin[i], b * cos[i]);
    }
    return;
  }
  for_vectors(half, [&](std::int64_t i, int k) {
    const auto a = L::load(x + i, k);
    const auto b = L::load(x + half + i, k);
    const auto c = L::load(cos + i, k);
    const auto s = L::load(sin + i, k);
    L::store(x + i, L::fma(negate<L>(b), s, L::mul(a, c)), k);
    L::store(x + half + i, L::fma(a, s, L::mul(b, c)), k);
  });
}

/// `bound` where x is larger, else x; so NaN stays NaN.
template <class L>
INGOT_INLINE typename L::F at_most(typename L::F x, float bound) {
  const auto b = L::splat(bound);
  return L::select(L::lt(b, x), b, x);
}

/// `bound` where x is smaller, else x.
template <class L>
INGOT_INLINE typename L::F at_least(typename L::F x, float bound) {
  const auto b = L::splat(bound);
  return L::select(L::lt(x, b), b, x);
}

/// Act::kGptOss of gate g and up u.
template <class L>
INGOT_INLINE typename L::F gpt_oss_lanes(typename L::F g, typename L::F u) {
  constexpr float kLimit = 7;
  const auto x = at_most<L>(g, kLimit);
  const auto up = at_least<L>(at_most<L>(u, kLimit), -kLimit);
  const auto swish = L::mul(x, math::sigmoid_lanes<L>(L::mul(L::splat(1.702f), x)));
  return L::mul(swish, L::add(up, L::splat(1)));
}

template <class L>
INGOT_INLINE typename L::F act_lanes(Act act, typename L::F x) {
  if (act == Act::kSilu) return L::mul(x, math::sigmoid_lanes<L>(x));
  if (act == Act::kTanh) return math::tanh_lanes<L>(x);
  const auto half = L::mul(L::splat(0.5f), x);
  if (act == Act::kGeluErf) {
    const auto e = math::erf_lanes<L>(L::mul(x, L::splat(0.70710678118654752f)));
    return L::mul(half, L::add(L::splat(1), e));
  }
  const auto cube = L::mul(L::splat(0.044715f), L::mul(x, x));
  const auto inner = L::mul(L::splat(0.79788456080286536f), L::fma(cube, x, x));
  return L::mul(half, L::add(L::splat(1), math::tanh_lanes<L>(inner)));
}

template <class L>
void activate_row(const float* in, const float* up, Act act, std::int64_t n, float* out) {
  if (act == Act::kGptOss) {
    return for_vectors(n, [&](std::int64_t i, int k) {
      L::store(out + i, gpt_oss_lanes<L>(L::load(in + i, k), L::load(up + i, k)), k);
    });
  }
  for_vectors(n, [&](std::int64_t i, int k) {
    auto y = act_lanes<L>(act, L::load(in + i, k));
    if (up != nullptr) y = L::mul(y, L::load(up + i, k));
    L::store(out + i, y, k);
  });
}

/// The largest of n elements. No element may be NaN.
template <class L>
INGOT_INLINE float largest_of(const float* x, std::int64_t n) {
  auto m = L::splat(-__builtin_inff());
  for_vectors(n, [&](std::int64_t i, int k) {
    const auto v = k == 16 ? L::load(x + i) : load_or<L>(x + i, k, L::splat(-__builtin_inff()));
    m = L::max(v, m);
  });
  return L::max_lane(m);
}

/// The tree of the lane sums of exp(x - largest). Writes the terms to `out` if it is not null.
template <class L>
INGOT_INLINE float exp_sum(const float* x, std::int64_t n, float largest, float* out) {
  auto lanes = L::splat(0);
  const auto m = L::splat(largest);
  for_vectors(n, [&](std::int64_t i, int k) {
    const auto p = math::exp_lanes<L>(L::sub(L::load(x + i, k), m));
    lanes = L::add(lanes, k == 16 ? p : first_lanes<L>(p, k));
    if (out != nullptr) L::store(out + i, p, k);
  });
  return L::tree(lanes);
}

template <class L>
void softmax_row(float* x, std::int64_t n) {
  const float sum = exp_sum<L>(x, n, largest_of<L>(x, n), x);
  const auto inv = L::splat(1.0f / sum);
  for_vectors(n,
              [&](std::int64_t i, int k) { L::store(x + i, L::mul(L::load(x + i, k), inv), k); });
}

template <class L>
void sigmoid_row(float* x, std::int64_t n) {
  for_vectors(n, [&](std::int64_t i, int k) {
    L::store(x + i, math::sigmoid_lanes<L>(L::load(x + i, k)), k);
  });
}

template <class L>
void cap_row(float* x, float cap, std::int64_t n) {
  const auto c = L::splat(cap);
  for_vectors(n, [&](std::int64_t i, int k) {
    const auto t = math::tanh_lanes<L>(L::div(L::load(x + i, k), c));
    L::store(x + i, L::mul(c, t), k);
  });
}

template <class L>
void log_sum_row(const float* x, std::int64_t n, float* largest, float* sum) {
  *largest = largest_of<L>(x, n);
  *sum = exp_sum<L>(x, n, *largest, nullptr);
}

template <class L>
void add_scaled_row(float w, const float* x, std::int64_t n, float* y) {
  const auto factor = L::splat(w);
  for_vectors(n, [&](std::int64_t i, int k) {
    L::store(y + i, L::fma(factor, L::load(x + i, k), L::load(y + i, k)), k);
  });
}

}  // namespace
}  // namespace ingot
