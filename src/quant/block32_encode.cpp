// Encoders of 32 weights with one scale: rounding to the range, or a search with weighted errors.
#include "quant/block32_encode.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "quant/affine_search.h"
#include "quant/group.h"
#include "quant/k_search.h"

namespace ingot {

namespace {

using namespace k_search;

/// The value with the largest magnitude, with its sign; the first one if several are equal.
float extreme(const float* x) {
  float found = 0;
  for (int k = 0; k < kGroup; ++k) {
    if (std::fabs(x[k]) > std::fabs(found)) found = x[k];
  }
  return found;
}

/// Returns `factor`, the inverse of a scale; 0 if it is not finite because the scale is 0 in F16.
float usable(float factor) { return std::isfinite(factor) ? factor : 0.0f; }

void store_codes(const int* code, Q4_0::Block& out) {
  for (int k = 0; k < 16; ++k) {
    out.qs[k] = static_cast<std::uint8_t>(code[k] | (code[k + 16] << 4));
  }
}

template <class Block>
void store_codes(const int* code, Block& out) {
  std::fill_n(out.qh, 4, std::uint8_t{0});
  for (int k = 0; k < 16; ++k) {
    out.qs[k] = static_cast<std::uint8_t>((code[k] & 15) | ((code[k + 16] & 15) << 4));
  }
  for (int k = 0; k < kGroup; ++k) {
    out.qh[k / 8] = static_cast<std::uint8_t>(out.qh[k / 8] | ((code[k] >> 4) << (k % 8)));
  }
}

/// Symmetric formats: codes 0 to 2 * kZero - 1 stand for -kZero to kZero - 1.
template <class T>
constexpr int kZero = 1 << (T::kBits - 1);

/// Scale: the value with the largest magnitude gets the lowest code. Codes are rounded to nearest,
/// halves up, and clamped to the highest code.
template <class T>
void round_symmetric(const float* x, typename T::Block& out) {
  const float d = extreme(x) / static_cast<float>(-kZero<T>);
  const float factor = usable(1.0f / d);
  out.d = scale_to_half(d, T::kName);
  int code[kGroup];
  for (int k = 0; k < kGroup; ++k) {
    const float shifted = x[k] * factor + (static_cast<float>(kZero<T>) + 0.5f);
    code[k] = std::min(2 * kZero<T> - 1, static_cast<int>(shifted));
  }
  store_codes(code, out);
}

/// Tries 19 scales, which put the largest magnitude up to 0.9 codes from the lowest code. Takes the
/// candidate whose least-squares scale has the smallest error. The order of the candidates and
/// rounding halves to even affect the bytes.
template <class T>
void search_symmetric(const float* x, const double* weight, typename T::Block& out) {
  constexpr int kTenths[] = {0, -9, -8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const float largest = extreme(x);
  double best_scale = 0;
  double best_gain = 0;
  int best[kGroup];
  std::fill_n(best, kGroup, kZero<T>);
  for (const int tenths : kTenths) {
    const float levels = static_cast<float>(kZero<T>) + 0.1f * static_cast<float>(tenths);
    const float factor = usable(-levels / largest);
    int q[kGroup];
    double xq = 0;
    double qq = 0;
    for (int k = 0; k < kGroup; ++k) {
      q[k] = std::clamp(static_cast<int>(std::nearbyint(factor * x[k])), -kZero<T>, kZero<T> - 1);
      xq += weight[k] * x[k] * q[k];
      qq += weight[k] * q[k] * q[k];
    }
    if (!(qq > 0 && xq * xq > best_gain * qq)) continue;
    best_scale = xq / qq;
    best_gain = best_scale * xq;
    for (int k = 0; k < kGroup; ++k) best[k] = q[k] + kZero<T>;
  }
  out.d = scale_to_half(best_scale, T::kName);
  store_codes(best, out);
}

}  // namespace

/// Scale: the largest magnitude gets code 127. Codes: nearest, halves away from zero.
void encode_block(const float* x, Q8_0::Block& out) {
  const float d = std::fabs(extreme(x)) / 127.0f;
  const float factor = usable(1.0f / d);
  out.d = scale_to_half(d, Q8_0::kName);
  for (int k = 0; k < kGroup; ++k) out.qs[k] = static_cast<std::int8_t>(std::round(x[k] * factor));
}

void encode_block(const float* x, Q4_0::Block& out) { round_symmetric<Q4_0>(x, out); }

void encode_block(const float* x, Q5_0::Block& out) { round_symmetric<Q5_0>(x, out); }

/// Scale and minimum: the range of the values spans codes 0 to 31. Codes: nearest, halves up.
void encode_block(const float* x, Q5_1::Block& out) {
  const auto [low, high] = std::minmax_element(x, x + kGroup);
  const float d = (*high - *low) / 31.0f;
  const float factor = usable(1.0f / d);
  out.d = scale_to_half(d, Q5_1::kName);
  out.m = scale_to_half(*low, Q5_1::kName);
  int code[kGroup];
  for (int k = 0; k < kGroup; ++k) {
    code[k] = std::min(31, static_cast<int>((x[k] - *low) * factor + 0.5f));
  }
  store_codes(code, out);
}

void encode_block(const float* x, const double* weight, Q4_0::Block& out) {
  search_symmetric<Q4_0>(x, weight, out);
}

void encode_block(const float* x, const double* weight, Q5_0::Block& out) {
  search_symmetric<Q5_0>(x, weight, out);
}

void encode_block(const float* x, const double* weight, Q5_1::Block& out) {
  check_magnitudes(x, kGroup, Q5_1::kName);
  const double largest = *std::max_element(weight, weight + kGroup);
  float own[kGroup];
  std::transform(weight, weight + kGroup, own,
                 [&](double w) { return static_cast<float>(w * inverse(largest)); });
  const ScaleAndMin fit = best_fit<kGroup, 31>(x, own, MinRange::kAny);
  out.d = scale_to_half(static_cast<double>(fit.scale), Q5_1::kName);
  out.m = scale_to_half(static_cast<double>(-fit.min), Q5_1::kName);
  const double d = half_to_float(out.d);
  const double m = half_to_float(out.m);
  int code[kGroup];
  for (int k = 0; k < kGroup; ++k) code[k] = nearest((x[k] - m) * inverse(d), 0, 31);
  store_codes(code, out);
}

}  // namespace ingot
