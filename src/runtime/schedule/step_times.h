// StepTimes: how long steps take on this machine, measured while it serves.
#pragma once

#include <array>
#include <cstdint>

namespace ingot {

/// Running means of the time of steps with decode rows alone, by their number, and of the time that
/// prompt rows add. A number that was never measured is estimated from its nearest neighbours. A
/// measured time also corrects other sizes that look too slow: the scheduler would avoid a size
/// that was slow once by accident, so it would never be measured again. Has no clock: callers pass
/// times.
class StepTimes {
 public:
  /// A step with `decodes` decode rows and `prefill` prompt rows took `seconds`.
  void add(std::int32_t decodes, std::int32_t prefill, double seconds);

  /// Seconds of a step with `decodes` decode rows alone; 0 before anything was measured.
  double decode_seconds(std::int32_t decodes) const;
  /// Seconds that `rows` prompt rows add; 0 before anything was measured.
  double prefill_seconds(std::int64_t rows) const;
  /// Seconds per prompt row at the best measured rate; 0 before a step of a quarter of `rows_max`
  /// was measured, because small steps say nothing about large ones.
  double min_row_seconds(std::int32_t rows_max) const;
  /// The most prompt rows, at least 1, that take at most `seconds`; `rows_max` before anything was
  /// measured.
  std::int32_t prefill_rows(double seconds, std::int32_t rows_max) const;

 private:
  static constexpr int kSizes = 20;  ///< classes of steps: 1, 2, 3 to 4, 5 to 8, ... rows
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
