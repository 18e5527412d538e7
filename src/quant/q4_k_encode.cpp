// Encoder of Q4_K: alternating least squares, see k_search.h.
#include <algorithm>

#include "base/half.h"
#include "quant/k_encode.h"
#include "quant/k_search.h"

namespace ingot {

namespace {

using namespace k_search;

// Q4_K: x = scale * q - min, q in [0, 15], min >= 0.

constexpr int kHigh = 15;
constexpr int kParts = 8;
constexpr int kSize = 32;
constexpr int kHighScale = 63;

struct ScaleAndMin {
  double scale = 0;
  double min = 0;
};

/// Weighted sums over a part with the codes that a scale and a minimum give.
struct Sums {
  double w = 0;
  double x = 0;
  double q = 0;
  double qq = 0;
  double xq = 0;
  /// How much lower the squared error is than with all weights zero.
  double gain(ScaleAndMin fit) const {
    return fit.scale * (2 * xq - fit.scale * qq) -
           fit.min * (2 * x - 2 * fit.scale * q + fit.min * w);
  }
};

Sums round_and_sum(const Part& part, ScaleAndMin fit) {
  Sums sums;
  const double factor = inverse(fit.scale);
  for (int k = 0; k < part.size; ++k) {
    const double w = part.weight[k];
    const double q = nearest((part.x[k] + fit.min) * factor, 0, kHigh);
    sums.w += w;
    sums.x += w * part.x[k];
    sums.q += w * q;
    sums.qq += w * q * q;
    sums.xq += w * part.x[k] * q;
  }
  return sums;
}

/// Solves [aa ab; ab bb] (u, v) = (xa, xb); false when it has no stable solution.
bool solve(double aa, double ab, double bb, double xa, double xb, double& u, double& v) {
  const double determinant = aa * bb - ab * ab;
  if (!(determinant > 1e-12 * aa * bb)) return false;
  u = (xa * bb - xb * ab) / determinant;
  v = (xb * aa - xa * ab) / determinant;
  return true;
}

/// Least squares for given codes under min >= 0; where the codes do not determine it, `fit` as it
/// is.
ScaleAndMin refit(const Sums& sums, ScaleAndMin fit) {
  double scale = 0;
  double offset = 0;
  if (!solve(sums.qq, sums.q, sums.w, sums.xq, sums.x, scale, offset)) return fit;
  if (offset <= 0) return {scale, -offset};
  return {sums.xq / sums.qq, 0};
}

ScaleAndMin best_fit(const Part& part) {
  double low = 0;  // a minimum cannot be above zero
  double high = part.x[0];
  for (int k = 0; k < part.size; ++k) {
    low = std::min(low, static_cast<double>(part.x[k]));
    high = std::max(high, static_cast<double>(part.x[k]));
  }
  ScaleAndMin best{0, -low};
  double best_gain = round_and_sum(part, best).gain(best);
  for (int start = -kStartsEachSide; start <= kStartsEachSide; ++start) {
    ScaleAndMin fit{(high - low) / (kHigh + 0.1 * start), -low};
    for (int i = 0; i < kIterations; ++i) {
      const Sums sums = round_and_sum(part, fit);
      const ScaleAndMin fitted = refit(sums, fit);
      const double gain = sums.gain(fitted);
      if (gain > best_gain) {
        best_gain = gain;
        best = fitted;
      }
      if (fitted.scale == fit.scale && fitted.min == fit.min) break;
      fit = fitted;
    }
  }
  return best;
}

/// What a block stores besides the codes, and how good it is.
struct Scales {
  std::uint16_t d = 0;
  std::uint16_t dmin = 0;
  ScaleMin pair[kParts] = {};
  double gain = 0;
};

/// The normal equations for d and dmin when codes and integer scales are given.
struct Normal {
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double xa = 0;
  double xb = 0;
  void add(const Sums& sums, ScaleMin pair) {
    const double s = pair.scale;
    const double m = pair.min;
    aa += s * s * sums.qq;
    ab -= s * m * sums.q;
    bb += m * m * sums.w;
    xa += s * sums.xq;
    xb -= m * sums.x;
  }
};

/// The best pair of integers near `wanted` for a given d and dmin.
ScaleMin integer_pair(const Part& part, ScaleAndMin wanted, double d, double dmin, Sums& best,
                      double& best_gain) {
  const int scale = nearest(wanted.scale * inverse(d), 0, kHighScale);
  const int min = nearest(wanted.min * inverse(dmin), 0, kHighScale);
  ScaleMin pair{};
  best_gain = 0;
  for (int s = std::max(scale - 1, 0); s <= std::min(scale + 1, kHighScale); ++s) {
    for (int m = std::max(min - 1, 0); m <= std::min(min + 1, kHighScale); ++m) {
      const ScaleAndMin fit{d * s, dmin * m};
      const Sums sums = round_and_sum(part, fit);
      const double gain = sums.gain(fit);
      if (gain > best_gain) {
        best_gain = gain;
        best = sums;
        pair = {static_cast<std::uint8_t>(s), static_cast<std::uint8_t>(m)};
      }
    }
  }
  return pair;
}

/// The best integer pairs for given d and dmin; both are then replaced by what least squares gives
/// for the codes.
Scales integer_scales(const Part* parts, const ScaleAndMin* wanted, double& d, double& dmin) {
  Scales result{.d = scale_to_half(d, Q4_K::kName), .dmin = scale_to_half(dmin, Q4_K::kName)};
  Normal normal;
  for (int j = 0; j < kParts; ++j) {
    Sums sums;
    double gain = 0;
    result.pair[j] = integer_pair(parts[j], wanted[j], half_to_float(result.d),
                                  half_to_float(result.dmin), sums, gain);
    result.gain += gain;
    normal.add(sums, result.pair[j]);
  }
  double u = 0;
  double v = 0;
  if (solve(normal.aa, normal.ab, normal.bb, normal.xa, normal.xb, u, v) && u >= 0 && v >= 0) {
    d = u;
    dmin = v;
  } else if (normal.bb == 0 && normal.aa > 0) {
    d = normal.xa / normal.aa;
  }
  return result;
}

void store(const float* x, const Scales& scales, Q4_K::Block& out) {
  out = {};
  out.d = scales.d;
  out.dmin = scales.dmin;
  pack_scale_min(scales.pair, out.scales);
  const double d = half_to_float(scales.d);
  const double dmin = half_to_float(scales.dmin);
  for (int k = 0; k < Q4_K::kBlock; ++k) {
    const int j = k / kSize;
    const ScaleMin pair = scales.pair[j];
    const int code = nearest((x[k] + dmin * pair.min) * inverse(d * pair.scale), 0, kHigh);
    std::uint8_t& byte = out.qs[32 * (j / 2) + k % kSize];
    byte = static_cast<std::uint8_t>(byte | (code << (4 * (j % 2))));
  }
}

}  // namespace

void encode_block(const float* x, const float* weight, Q4_K::Block& out) {
  Part parts[kParts];
  ScaleAndMin wanted[kParts];
  double d = 0;
  double dmin = 0;
  for (int j = 0; j < kParts; ++j) {
    parts[j] = {x + kSize * j, weight + kSize * j, kSize};
    wanted[j] = best_fit(parts[j]);
    d = std::max(d, wanted[j].scale / kHighScale);
    dmin = std::max(dmin, wanted[j].min / kHighScale);
  }
  Scales best;
  for (int i = 0; i < kRefinements; ++i) {
    const Scales scales = integer_scales(parts, wanted, d, dmin);
    if (scales.gain <= best.gain) break;
    best = scales;
  }
  store(x, best, out);
}

}  // namespace ingot
