// Histogram: counts values in buckets with fixed bounds, and sums them, for metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot {

/// A histogram of fixed size, so that adding and copying allocate nothing.
class Histogram {
 public:
  /// Limit on the number of bounds. The longest list in MetricBounds has 22 bounds.
  static constexpr std::size_t kBoundsMax = 24;

  /// Bucket i counts the values in (bounds[i - 1], bounds[i]]. The last bucket counts values above
  /// all bounds. `bounds` must ascend, and must outlive the histogram and its copies.
  explicit Histogram(std::span<const double> bounds);

  /// Counts a value. Counts NaN in the last bucket, but does not add it to the sum.
  void add(double value);

  std::span<const double> bounds() const { return bounds_; }
  /// Returns each bucket's count, not cumulative. There is one more bucket than bounds.
  std::span<const std::uint64_t> counts() const {
    return std::span(counts_).first(bounds_.size() + 1);
  }
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::array<std::uint64_t, kBoundsMax + 1> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace ingot
