// QueuePace: seconds between two admissions, measured while requests wait.
#pragma once

#include <cstdint>
#include <optional>

namespace ingot {

/// Averages the time between about the last 64 admissions. Measures only while requests wait,
/// because the time depends on arrivals otherwise. Times are seconds of the caller's clock.
class QueuePace {
 public:
  /// Records that `admitted` requests were admitted since the last call, and `waiting` still wait.
  void add(std::int64_t admitted, std::int64_t waiting, double now);
  /// Mean seconds between two admissions, more if the last one is long ago; 0 before 8 admissions.
  double seconds_each(double now) const;

 private:
  std::optional<double> since_;  ///< time of the last counted admission; empty: no request waits
  double admitted_ = 0;          ///< number of admissions, in which older ones count less
  double seconds_ = 0;           ///< sum of times between admissions; older ones count less
};

}  // namespace ingot
