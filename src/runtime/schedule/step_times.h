// StepTimes: measures how long steps take on this machine while it serves requests.
#pragma once

#include <array>
#include <cstdint>

namespace ingot {

/// Keeps two running means for each size class: the time of a step with only decode rows, and the
/// time that prompt rows add to a step. Interpolates between the nearest measured classes. A new
/// measurement also lowers means that look too slow compared with it. Otherwise the scheduler would
/// avoid a size that was slow once by accident, and would never measure it again.
class StepTimes {
 public:
  /// Records that a step with `decodes` decode rows and `prefill` prompt rows took `seconds`.
  void add(std::int32_t decodes, std::int32_t prefill, double seconds);

  /// Returns whether no step with only decode rows was measured.
  bool is_empty() const { return decode_seconds(1) == 0; }
  /// Estimates the seconds of a step with only decode rows; 0 before the first measurement.
  double decode_seconds(std::int32_t decodes) const;
  /// Returns the rows of the largest measured steps with only decode rows; 0: none was measured.
  double decode_rows_max() const;
  /// Estimates like `decode_seconds`, but a step with more rows than any measured one takes only as
  /// long as the largest measured one. 1 if nothing that takes time was measured.
  double decode_seconds_least(std::int32_t decodes) const;
  /// Estimates the seconds that `rows` prompt rows add to a step; 0 before the first measurement.
  double prefill_seconds(std::int64_t rows) const;
  /// Returns the seconds per prompt row at the best measured rate; 0 until a step with at least
  /// `rows_max` / 4 prompt rows was measured, because small steps say nothing about large ones.
  double min_row_seconds(std::int32_t rows_max) const;
  /// Returns the largest number of prompt rows, from 1 to `rows_max`, that adds at most `seconds`
  /// to a step. Returns `rows_max` before the first measurement.
  std::int32_t prefill_rows(double seconds, std::int32_t rows_max) const;

 private:
  /// Number of size classes: 1, 2, 3 to 4, 5 to 8, ... rows. The last class has all larger sizes.
  static constexpr int kSizes = 20;
  struct Mean {
    double rows = 0;
    double seconds = 0;
    std::int64_t count = 0;
    void add(double rows_now, double seconds_now);
    void agree_with(const Mean& newer);
  };
  using Means = std::array<Mean, kSizes>;
  static std::size_t size_of(std::int64_t rows);
  static double estimate(const Means& means, double rows);
  static void learn(Means& means, std::int32_t rows, double seconds);

  Means decodes_;
  Means prefills_;
};

}  // namespace ingot
