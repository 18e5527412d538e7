// Percentiles and medians of measured numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace ingot {

/// Returns the value at index (n - 1) * percent / 100 of the n values in `sorted`, interpolated
/// linearly between its two neighbours. 0 if `sorted` is empty.
inline double percentile(std::span<const double> sorted, double percent) {
  if (sorted.empty()) return 0;
  const double place = static_cast<double>(sorted.size() - 1) * percent / 100;
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

/// Returns the median of `values` (in any order): the middle value, or the mean of the two
/// middle values. 0 if `values` is empty.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return percentile(values, 50);
}

}  // namespace ingot
