// StepTimes: how long steps take on this machine, learnt from those that were run.
#pragma once

#include <array>
#include <cstdint>

namespace ingot {

/// Running means of the time of steps of single rows, by their number, and of what the rows of
/// prompts add to it. A number of rows that was never seen is judged by its nearest neighbours.
/// What is measured also corrects sizes that look slower than it allows: one that was slow by an
/// accident is not asked for, and would never be measured again. No clock inside: times are told.
class StepTimes {
 public:
  /// A step of `decodes` sequences with one row each, and `prefill` rows of others.
  void add(std::int32_t decodes, std::int32_t prefill, double seconds);

  /// Of a step of so many sequences with one row each; 0 before anything is known.
  double decode_seconds(std::int32_t decodes) const;
  /// That so many rows of prompts take or add; 0 before anything is known.
  double prefill_seconds(std::int64_t rows) const;
  /// Seconds a row of prompts at the best rate measured; 0 before steps of a quarter of `rows_max`
  /// were: small ones say nothing of large ones.
  double min_row_seconds(std::int32_t rows_max) const;
  /// The most rows of prompts, at least 1, that take at most `seconds`; `rows_max` before anything
  /// is known.
  std::int32_t prefill_rows(double seconds, std::int32_t rows_max) const;

 private:
  static constexpr int kSizes = 20;  ///< of steps: 1, 2, 3 to 4, 5 to 8, ...
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
