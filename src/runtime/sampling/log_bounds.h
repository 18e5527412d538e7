// Bounds and estimates of logarithms, which take less time than base/math_double.h.
#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

namespace ingot {

/// Returns a number that is at most log(x), and at least log(x) - 0.07, for a normal x > 0.
inline double log_lower_bound(double x) {
  // Rounding errs by less than 1e-13, and must not lift the bound above the logarithm.
  constexpr double kSlack = 1e-9;
  // The bits of 2^k (1 + f), less those of 1, are 2^52 (k + f). log2(1 + f) is between f and
  // f + 0.09.
  const std::int64_t bits = std::bit_cast<std::int64_t>(x) - std::bit_cast<std::int64_t>(1.0);
  return static_cast<double>(bits) * (0x1p-52 * std::numbers::ln2) - kSlack;
}

/// Returns log(x) for a normal x > 0, with an absolute error of at most 1e-7 and a relative error
/// of at most 1e-7.
inline double log_estimate(double x) {
  // x = 2^k m, m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh(s), s = (m - 1) / (m + 1). The series
  // ends at s^7, so its relative error is about s^8 / 9, and |s| < 0.172.
  constexpr auto kSqrtHalf = std::bit_cast<std::int64_t>(0.5 * std::numbers::sqrt2);
  const auto bits = std::bit_cast<std::int64_t>(x);
  const std::int64_t k = (bits - kSqrtHalf) >> 52;
  const auto m = std::bit_cast<double>(bits - (k << 52));
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  const double series = 1 + s2 * (1.0 / 3 + s2 * (1.0 / 5 + s2 * (1.0 / 7)));
  return static_cast<double>(k) * std::numbers::ln2 + 2 * s * series;
}

}  // namespace ingot
