// Histogram: how many values fell between fixed bounds, and their sum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot {

/// Counts in buckets. Of a fixed size, so that adding and copying allocate nothing.
class Histogram {
 public:
  /// Bounds that there may be.
  static constexpr std::size_t kBoundsMax = 24;

  /// Bucket i holds what is at most bounds[i] and above those before; one more holds the rest.
  /// `bounds` rise, and live as long as the histogram and its copies.
  explicit Histogram(std::span<const double> bounds);

  /// What is not a number counts as the rest and adds nothing to the sum.
  void add(double value);

  std::span<const double> bounds() const { return bounds_; }
  /// By bucket, each for itself: one more than bounds.
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
