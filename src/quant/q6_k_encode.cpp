// Encoder of Q6_K: alternating least squares, see k_search.h.
#include <algorithm>
#include <cmath>

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

/// Weighted sums over a part with the codes that `scale` gives.
struct Sums {
  double xq = 0;
  double qq = 0;
  /// How much lower the squared error is than with all codes zero.
  double gain(double scale) const { return scale * (2 * xq - scale * qq); }
};

Sums round_and_sum(const Part& part, double scale) {
  Sums sums;
  const double factor = inverse(scale);
  for (int k = 0; k < part.size; ++k) {
    const double q = nearest(part.x[k] * factor, kLow, kHigh);
    const double wq = part.weight[k] * q;
    sums.xq += wq * part.x[k];
    sums.qq += wq * q;
  }
  return sums;
}

double best_scale(const Part& part) {
  double extreme = 0;
  for (int k = 0; k < part.size; ++k) {
    if (std::fabs(part.x[k]) > std::fabs(extreme)) extreme = part.x[k];
  }
  double best = 0;
  double best_gain = 0;
  for (int start = -kStartsEachSide; start <= kStartsEachSide; ++start) {
    double scale = extreme / (kLow + 0.1 * start);
    for (int i = 0; i < kIterations; ++i) {
      const Sums sums = round_and_sum(part, scale);
      if (sums.qq == 0) break;
      const double fitted = sums.xq / sums.qq;
      const double gain = sums.gain(fitted);
      if (gain > best_gain) {
        best_gain = gain;
        best = fitted;
      }
      if (fitted == scale) break;
      scale = fitted;
    }
  }
  return best;
}

/// What a block stores besides the codes, and how good it is.
struct Scales {
  std::uint16_t d = 0;
  int scale[kParts] = {};
  double gain = 0;
};

/// The best integer scales for a given d; `refitted` is the d that least squares gives for the
/// resulting codes.
Scales integer_scales(const Part* parts, const double* wanted, std::uint16_t bits,
                      double& refitted) {
  Scales result{.d = bits};
  const double d = half_to_float(bits);
  double xq = 0;
  double qq = 0;
  for (int j = 0; j < kParts; ++j) {
    const int middle = nearest(wanted[j] * inverse(d), -128, 127);
    double best_gain = 0;
    Sums best;
    for (int s = std::max(middle - 1, -128); s <= std::min(middle + 1, 127); ++s) {
      const Sums sums = round_and_sum(parts[j], d * s);
      const double gain = sums.gain(d * s);
      if (gain > best_gain) {
        best_gain = gain;
        best = sums;
        result.scale[j] = s;
      }
    }
    const double s = result.scale[j];
    result.gain += best_gain;
    xq += s * best.xq;
    qq += s * s * best.qq;
  }
  refitted = qq == 0 ? 0 : xq / qq;
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
  Part parts[kParts];
  double wanted[kParts];
  double largest = 0;
  for (int j = 0; j < kParts; ++j) {
    parts[j] = {x + kSize * j, weight + kSize * j, kSize};
    wanted[j] = best_scale(parts[j]);
    if (std::fabs(wanted[j]) > std::fabs(largest)) largest = wanted[j];
  }
  Scales best;
  double d = largest / -128;  // -128 is the integer of the largest magnitude
  for (int i = 0; i < kRefinements; ++i) {
    const std::uint16_t bits = scale_to_half(d, Q6_K::kName);
    const Scales scales = integer_scales(parts, wanted, bits, d);
    if (scales.gain <= best.gain) break;
    best = scales;
  }
  store(x, best, out);
}

}  // namespace ingot
