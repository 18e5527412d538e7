// Searches for the scale and minimum of quantised weights by least squares: x = scale * q - min.
#pragma once

#include <algorithm>

#include "quant/k_search.h"

namespace ingot::k_search {

/// A scale and a minimum. An integer code q in [0, kHigh] has the value scale * q - min.
struct ScaleAndMin {
  float scale = 0;
  float min = 0;
};

/// Sums over the weights x that share a ScaleAndMin. For example, `rq` is the sum of w * r * q.
/// Here w is x's importance, q is x's nearest code, and r is the error x - (scale * q - min).
struct AffineSums {
  float w = 0;
  float q = 0;
  float qq = 0;
  float r = 0;
  float rq = 0;
  float rr = 0;  ///< the weighted squared error
};

/// Rounds kSize weights to the nearest codes for `fit`, and returns the sums.
template <int kSize, int kHigh>
AffineSums round_and_sum(const float* x, const float* weight, ScaleAndMin fit) {
  Four w{}, q{}, qq{}, r{}, rq{}, rr{};
  const float factor = inverse(fit.scale);
  for (int k = 0; k < kSize; k += 4) {
    const Four shifted = load(x + k) + fit.min;
    const Four wk = load(weight + k);
    const Four qk = nearest(shifted * factor, 0, kHigh);
    const Four rk = shifted - fit.scale * qk;
    const Four wq = wk * qk;
    const Four wr = wk * rk;
    w += wk;
    q += wq;
    qq += wq * qk;
    r += wr;
    rq += wr * qk;
    rr += wr * rk;
  }
  return {sum(w), sum(q), sum(qq), sum(r), sum(rq), sum(rr)};
}

/// Solves aa * u + ab * v = xa, ab * u + bb * v = xb. Returns false if no solution is stable.
inline bool solve(double aa, double ab, double bb, double xa, double xb, double& u, double& v) {
  const double determinant = aa * bb - ab * ab;
  if (!(determinant > 1e-6 * aa * bb)) return false;
  u = (xa * bb - xb * ab) / determinant;
  v = (xb * aa - xa * ab) / determinant;
  return true;
}

/// The range of minimums that a format can store.
enum class MinRange { kNotNegative, kAny };

/// A fit and its weighted squared error.
struct ScoredFit {
  ScaleAndMin fit;
  float error = 0;
};

/// Computes the least-squares fit for fixed codes. `s` is the result of round_and_sum for `fit`.
/// Returns `fit` if the codes do not determine a fit.
inline ScoredFit refit(const AffineSums& s, ScaleAndMin fit, MinRange range) {
  double scale = 0;
  double min = 0;
  if (!solve(s.qq, -s.q, s.w, s.rq, -s.r, scale, min)) return {fit, s.rr};
  double lower = scale * s.rq - min * s.r;
  if (fit.min + min < 0 && range == MinRange::kNotNegative) {
    min = -fit.min;
    const double raised = s.rq + min * s.q;  // `rq` after the minimum changes by `min`
    scale = raised / s.qq;
    lower = scale * raised - min * (2 * s.r + min * s.w);
  }
  return {{static_cast<float>(fit.scale + scale), static_cast<float>(fit.min + min)},
          static_cast<float>(s.rr - lower)};
}

/// Searches for the best scale and minimum of kSize weights. Both are still unrounded floats.
template <int kSize, int kHigh>
ScaleAndMin best_fit(const float* x, const float* weight, MinRange range) {
  const auto [least, most] = std::minmax_element(x, x + kSize);
  const float low = range == MinRange::kAny ? *least : std::min(*least, 0.0f);
  const ScaleAndMin flat{0, -low};
  ScoredFit best{flat, round_and_sum<kSize, kHigh>(x, weight, flat).rr};
  /// Makes one least-squares step from `fit`; keeps the result if its error is the smallest so far.
  const auto improve = [&](ScaleAndMin fit) {
    const ScoredFit found = refit(round_and_sum<kSize, kHigh>(x, weight, fit), fit, range);
    if (found.error < best.error) best = found;
    return found;
  };
  for (int start = -kStartsEachSide; start <= kStartsEachSide; ++start) {
    const float levels = static_cast<float>(kHigh) + kStartStep * static_cast<float>(start);
    improve(improve({(*most - low) / levels, -low}).fit);
  }
  for (int i = 0; i < kIterations; ++i) {
    const float before = best.error;
    if (improve(best.fit).error >= before) break;
  }
  return best.fit;
}

}  // namespace ingot::k_search
