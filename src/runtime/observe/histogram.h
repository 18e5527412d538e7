// Histogram: counts values between fixed bounds, and their sum, for metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot {

/// Has a fixed size, so adding and copying allocate nothing.
class Histogram {
 public:
  /// The most bounds: the longest set in MetricBounds has 22.
  static constexpr std::size_t kBoundsMax = 24;

  /// Bucket i counts the values in (bounds[i - 1], bounds[i]]; the last bucket, without a bound,
  /// counts larger ones. `bounds` ascend, and outlive the histogram and its copies.
  explicit Histogram(std::span<const double> bounds);

  /// NaN counts in the last bucket and adds nothing to the sum.
  void add(double value);

  std::span<const double> bounds() const { return bounds_; }
  /// Values by bucket, not cumulative; one bucket more than bounds.
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
