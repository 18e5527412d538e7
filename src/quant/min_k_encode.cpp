// Encoders of Q4_K and Q5_K by alternating least squares, see k_search.h and affine_search.h.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/half.h"
#include "quant/affine_search.h"
#include "quant/k_encode.h"

namespace ingot {

namespace {

using namespace k_search;

// A block has eight parts of 32 weights x = scale * q - min, with min >= 0. Scale and min are 6-bit
// integers times d and dmin; q has 4 or 5 bits.

constexpr int kParts = 8;
constexpr int kSize = 32;
constexpr int kHighScale = 63;

template <class T>
constexpr int kHigh = (1 << T::kBits) - 1;

/// A block's weights, and the best fit of each part.
struct Work {
  const float* x;
  const float* weight;
  ScaleAndMin wanted[kParts];
};

/// The numbers that a block stores besides the codes, and their error.
struct Scales {
  std::uint16_t d = 0;
  std::uint16_t dmin = 0;
  ScaleMin pair[kParts] = {};
  double error = 0;
};

/// The normal equations for the changes of d and dmin when codes and integer scales are given.
struct Normal {
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double ra = 0;
  double rb = 0;
  void add(const AffineSums& sums, ScaleMin pair) {
    const double s = pair.scale;
    const double m = pair.min;
    aa += s * s * static_cast<double>(sums.qq);
    ab -= s * m * static_cast<double>(sums.q);
    bb += m * m * static_cast<double>(sums.w);
    ra += s * static_cast<double>(sums.rq);
    rb -= m * static_cast<double>(sums.r);
  }
};

/// The best pair of integers near the fit of part `j`, for given d and dmin. Writes the sums of
/// this pair to `best`.
template <class T>
ScaleMin integer_pair(const Work& work, int j, float d, float dmin, AffineSums& best) {
  const int scale = nearest(work.wanted[j].scale * inverse(d), 0, kHighScale);
  const int min = nearest(work.wanted[j].min * inverse(dmin), 0, kHighScale);
  ScaleMin pair{};
  best.rr = std::numeric_limits<float>::infinity();
  for (int s = std::max(scale - 1, 0); s <= std::min(scale + 1, kHighScale); ++s) {
    for (int m = std::max(min - 1, 0); m <= std::min(min + 1, kHighScale); ++m) {
      const ScaleAndMin fit{d * static_cast<float>(s), dmin * static_cast<float>(m)};
      const auto sums =
          round_and_sum<kSize, kHigh<T>>(work.x + kSize * j, work.weight + kSize * j, fit);
      if (sums.rr >= best.rr) continue;
      best = sums;
      pair = {static_cast<std::uint8_t>(s), static_cast<std::uint8_t>(m)};
    }
  }
  return pair;
}

/// The best integer pairs for given d and dmin. Then replaces d and dmin by the least-squares
/// solution for the resulting codes.
template <class T>
Scales integer_scales(const Work& work, double& d, double& dmin) {
  Scales result{.d = scale_to_half(d, T::kName), .dmin = scale_to_half(dmin, T::kName)};
  const float stored_d = half_to_float(result.d);
  const float stored_dmin = half_to_float(result.dmin);
  Normal normal;
  for (int j = 0; j < kParts; ++j) {
    AffineSums sums;
    result.pair[j] = integer_pair<T>(work, j, stored_d, stored_dmin, sums);
    result.error += static_cast<double>(sums.rr);
    normal.add(sums, result.pair[j]);
  }
  double u = 0;
  double v = 0;
  if (solve(normal.aa, normal.ab, normal.bb, normal.ra, normal.rb, u, v)) {
    d = std::max(0.0, stored_d + u);
    dmin = std::max(0.0, stored_dmin + v);
  } else if (normal.bb == 0 && normal.aa > 0) {
    d = stored_d + normal.ra / normal.aa;
  }
  return result;
}

void put_code(int k, int code, Q4_K::Block& out) {
  std::uint8_t& byte = out.qs[32 * (k / 64) + k % 32];
  byte = static_cast<std::uint8_t>(byte | (code << (4 * (k / 32 % 2))));
}

void put_code(int k, int code, Q5_K::Block& out) {
  std::uint8_t& low = out.qs[32 * (k / 64) + k % 32];
  std::uint8_t& high = out.qh[k % 32];
  low = static_cast<std::uint8_t>(low | ((code & 15) << (4 * (k / 32 % 2))));
  high = static_cast<std::uint8_t>(high | ((code >> 4) << (k / 32)));
}

template <class T>
void store(const float* x, const Scales& scales, typename T::Block& out) {
  out = {};
  out.d = scales.d;
  out.dmin = scales.dmin;
  pack_scale_min(scales.pair, out.scales);
  const double d = half_to_float(scales.d);
  const double dmin = half_to_float(scales.dmin);
  for (int k = 0; k < T::kBlock; ++k) {
    const ScaleMin pair = scales.pair[k / kSize];
    put_code(k, nearest((x[k] + dmin * pair.min) * inverse(d * pair.scale), 0, kHigh<T>), out);
  }
}

template <class T>
void encode(const float* x, const float* weight, typename T::Block& out) {
  check_magnitudes(x, T::kBlock, T::kName);
  Work work{.x = x, .weight = weight, .wanted = {}};
  double d = 0;
  double dmin = 0;
  for (int j = 0; j < kParts; ++j) {
    work.wanted[j] =
        best_fit<kSize, kHigh<T>>(x + kSize * j, weight + kSize * j, MinRange::kNotNegative);
    d = std::max(d, static_cast<double>(work.wanted[j].scale) / kHighScale);
    dmin = std::max(dmin, static_cast<double>(work.wanted[j].min) / kHighScale);
  }
  Scales best = integer_scales<T>(work, d, dmin);
  for (int i = 1; i < kRefinements; ++i) {
    const Scales scales = integer_scales<T>(work, d, dmin);
    if (scales.error >= best.error) break;
    best = scales;
  }
  store<T>(x, best, out);
}

}  // namespace

void encode_block(const float* x, const float* weight, Q4_K::Block& out) {
  encode<Q4_K>(x, weight, out);
}

void encode_block(const float* x, const float* weight, Q5_K::Block& out) {
  encode<Q5_K>(x, weight, out);
}

}  // namespace ingot
