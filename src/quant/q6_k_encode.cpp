// Encoder of Q6_K by alternating least squares, see k_search.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "quant/k_encode.h"
#include "quant/k_search.h"

namespace ingot {

namespace {

using namespace k_search;

// Q6_K: x = scale * q, q in [-32, 31].

constexpr int kLow = -32;
constexpr int kHigh = 31;
constexpr int kParts = 16;
constexpr int kSize = 16;

/// Weighted sums over a part. q is the nearest code under a scale, r is its error x - scale * q.
struct Sums {
  float qq = 0;
  float rq = 0;
  float rr = 0;  ///< the squared error
};

Sums round_and_sum(const float* x, const float* weight, float scale) {
  Four qq{}, rq{}, rr{};
  const float factor = inverse(scale);
  for (int k = 0; k < kSize; k += 4) {
    const Four xk = load(x + k);
    const Four wk = load(weight + k);
    const Four qk = nearest(xk * factor, kLow, kHigh);
    const Four rk = xk - scale * qk;
    const Four wr = wk * rk;
    qq += wk * qk * qk;
    rq += wr * qk;
    rr += wr * rk;
  }
  return {sum(qq), sum(rq), sum(rr)};
}

float best_scale(const float* x, const float* weight) {
  float extreme = 0;
  for (int k = 0; k < kSize; ++k) {
    if (std::fabs(x[k]) > std::fabs(extreme)) extreme = x[k];
  }
  float best = 0;
  float best_error = round_and_sum(x, weight, 0).rr;
  /// One least-squares step from `scale`. Returns whether the error is the smallest so far.
  const auto improve = [&](float scale) {
    const Sums sums = round_and_sum(x, weight, scale);
    if (!(sums.qq > 0)) return false;
    const float change = sums.rq / sums.qq;
    const float error = sums.rr - change * sums.rq;
    if (error >= best_error) return false;
    best_error = error;
    best = scale + change;
    return true;
  };
  for (int start = -kStartsEachSide; start <= kStartsEachSide; ++start) {
    improve(extreme / (static_cast<float>(kLow) + kStartStep * static_cast<float>(start)));
  }
  for (int i = 0; i < kIterations && improve(best); ++i) {
  }
  return best;
}

/// The numbers that a block stores besides the codes, and their error.
struct Scales {
  std::uint16_t d = 0;
  int scale[kParts] = {};
  double error = 0;
};

/// The best integer scales for a given d. Then replaces d by the least-squares solution for the
/// resulting codes.
Scales integer_scales(const float* x, const float* weight, const float* wanted, double& d) {
  Scales result{.d = scale_to_half(d, Q6_K::kName)};
  const float stored = half_to_float(result.d);
  double rq = 0;
  double qq = 0;
  for (int j = 0; j < kParts; ++j) {
    const int middle = nearest(wanted[j] * inverse(stored), -128, 127);
    Sums best{.rr = std::numeric_limits<float>::infinity()};
    for (int s = std::max(middle - 1, -128); s <= std::min(middle + 1, 127); ++s) {
      const Sums sums =
          round_and_sum(x + kSize * j, weight + kSize * j, stored * static_cast<float>(s));
      if (sums.rr >= best.rr) continue;
      best = sums;
      result.scale[j] = s;
    }
    const double s = result.scale[j];
    result.error += static_cast<double>(best.rr);
    rq += s * static_cast<double>(best.rq);
    qq += s * s * static_cast<double>(best.qq);
  }
  d = qq == 0 ? 0 : stored + rq / qq;
  return result;
}

void store(const float* x, const Scales& scales, Q6_K::Block& out) {
  out = {};
  out.d = scales.d;
  const double d = half_to_float(scales.d);
  for (int k = 0; k < Q6_K::kBlock; ++k) {
    const int j = k / kSize;
    out.scales[j] = static_cast<std::int8_t>(scales.scale[j]);
    const int code = nearest(x[k] * inverse(d * scales.scale[j]), kLow, kHigh) - kLow;
    const int half = k / 128;
    const int g = k / kGroup % 4;
    std::uint8_t& low = out.ql[64 * half + 32 * (g % 2) + k % kGroup];
    std::uint8_t& high = out.qh[32 * half + k % kGroup];
    low = static_cast<std::uint8_t>(low | ((code & 15) << (4 * (g / 2))));
    high = static_cast<std::uint8_t>(high | ((code >> 4) << (2 * g)));
  }
}

}  // namespace

void encode_block(const float* x, const float* weight, Q6_K::Block& out) {
  check_magnitudes(x, Q6_K::kBlock, Q6_K::kName);
  float wanted[kParts];
  float largest = 0;
  for (int j = 0; j < kParts; ++j) {
    wanted[j] = best_scale(x + kSize * j, weight + kSize * j);
    if (std::fabs(wanted[j]) > std::fabs(largest)) largest = wanted[j];
  }
  double d = largest / -128.0;  // -128 is the integer of the largest magnitude
  Scales best = integer_scales(x, weight, wanted, d);
  for (int i = 1; i < kRefinements; ++i) {
    const Scales scales = integer_scales(x, weight, wanted, d);
    if (scales.error >= best.error) break;
    best = scales;
  }
  store(x, best, out);
}

}  // namespace ingot
