// LinearError: tolerances of op tests, from bounds on the rounding error of a linear.
#pragma once

#include "backend/op_test_util.h"

namespace ingot::testing {

/// Worst-case and expected errors of y = W x for given weights and inputs.
///
/// Dense formats: each product is rounded at most n times. A segment's chain rounds a product up to
/// min(K, 1024) times, and each added segment once more. So |error| <= gamma(n) * sum |w x|.
///
/// Block formats: q * d replaces x, with |x - q d| <= d / 2 and d = amax / 127 for a group of 32.
/// This gives an error of at most sum |w| d / 2. Integer sums are exact. Each term (scale * value,
/// or minimum) is rounded at most four times, and once more for each group and segment. The
/// reference adds two roundings of each weight. If x is well spread, x - q d is nearly uniform in
/// [-d / 2, d / 2], with variance d^2 / 12.
///
/// BF16, for which the reference does not round: bf16(x) replaces x, with an error of at most
/// 2^-8 |x|, or 2^-48. Weights below 2^-48 become zero.
class LinearError {
 public:
  explicit LinearError(std::span<const View> parts) : cols_(parts[0].cols) {
    for (const View& part : parts) {
      for (std::int64_t r = 0; r < part.rows; ++r) add_row(part, r);
    }
  }

  /// An input row. `x_error` is the absolute error that each element already has.
  struct Input {
    std::vector<double> x, half_step, x_error;
  };

  Input input(const float* x, std::vector<double> x_error = {}) const {
    const auto n = static_cast<std::size_t>(cols_);
    Input in{std::vector<double>(x, x + n), std::vector<double>(n), std::move(x_error)};
    in.x_error.resize(n);
    for (std::size_t g = 0; g < n; g += kGroup) {
      const std::size_t end = std::min(n, g + kGroup);
      double amax = 0;
      for (std::size_t k = g; k < end; ++k) {
        amax = std::max(amax, std::abs(in.x[k]) + in.x_error[k]);
      }
      // The factor 1.0001 covers rounding of d and 127 / amax. If amax < 2^-100, q is 0.
      const double error = amax < 0x1p-100 ? amax : 1.0001 * amax / 254;
      std::fill(in.half_step.begin() + long(g), in.half_step.begin() + long(end), error);
    }
    return in;
  }

  /// Returns an upper bound of |y - exact y| for output r, without a bias.
  double worst(std::int64_t r, const Input& in) const {
    const bool block = block_[std::size_t(r)];
    const bool rounded = rounded_[std::size_t(r)];
    const float* weights = weights_.data() + r * cols_;
    const float* sizes = sizes_.data() + r * cols_;
    double carried = 0;
    double products = 0;
    for (std::size_t k = 0; k < std::size_t(cols_); ++k) {
      const double x = std::abs(in.x[k]) + in.x_error[k];
      const double step = block ? in.half_step[k] : rounded ? std::max(0x1p-8 * x, 0x1p-48) : 0;
      carried += std::abs(double{weights[k]}) * (step + in.x_error[k]);
      if (rounded) carried += 0x1p-48 * x;
      products += double{sizes[k]} * (x + step);
    }
    const std::int64_t chain = std::min<std::int64_t>(cols_, 1024) / (block ? kGroup : 1);
    return carried * 1.0001 + gamma(chain + cols_ / 1024 + 8) * products;
  }

  /// Returns the variance of output r from quantised activations; 0 for dense formats.
  double variance(std::int64_t r, const Input& in) const {
    if (!block_[std::size_t(r)]) return 0;
    double sum = 0;
    for (std::size_t k = 0; k < std::size_t(cols_); ++k) {
      const double e = double{weights_[std::size_t(r * cols_) + k]} * 2 * in.half_step[k];
      sum += e * e / 12;
    }
    return sum;
  }

 private:
  void add_row(const View& part, std::int64_t r) {
    const std::size_t at = weights_.size();
    weights_.resize(at + std::size_t(cols_));
    decode_row(part.format, part.row_data(r), cols_, &weights_[at]);
    block_.push_back(!format_info(part.format).dense);
    rounded_.push_back(part.format == BF16::kFormat);
    sizes_.insert(sizes_.end(), weights_.begin() + long(at), weights_.end());
    for (std::size_t k = at; k < sizes_.size(); ++k) sizes_[k] = std::abs(sizes_[k]);
    visit_format(part.format, [&]<class T>() {
      if constexpr (BlockFormat<T>) add_minimums<T>(part.row_data(r), &sizes_[at]);
    });
  }

  /// Adds 2 |min| to each |scale * value + min|. The sum is at least |scale * value| + |min|.
  template <BlockFormat T>
  void add_minimums(const std::byte* row, float* sizes) const {
    for (std::int64_t b = 0; b < cols_ / T::kBlock; ++b) {
      typename T::Block block;
      std::memcpy(&block, row + b * block_bytes<T>(), sizeof block);
      for (int g = 0; g < T::kBlock / kGroup; ++g, sizes += kGroup) {
        GroupCodes codes;
        T::unpack(block, g, codes);
        if (T::kMinSign == 0) continue;
        for (int k = 0; k < kGroup; ++k) {
          const float min = T::scale_value(codes.m) * codes.min[k * T::kScales / kGroup];
          sizes[k] += 2 * std::abs(min);
        }
      }
    }
  }

  std::int64_t cols_;
  std::vector<float> weights_, sizes_;  ///< [rows, cols] weights, and bounds of their terms
  std::vector<bool> block_;             ///< whether each row has a block format
  std::vector<bool> rounded_;           ///< whether each row is BF16
};

}  // namespace ingot::testing
