// QueuePace: measures the seconds between two admissions while requests wait.
#pragma once

#include <cstdint>
#include <optional>

namespace ingot {

/// Averages the time between admissions, over about the last 64. Measures only while requests wait:
/// otherwise arrivals decide the time. Times are seconds of the caller's clock.
class QueuePace {
 public:
  /// Records that `admitted` requests were admitted since the last call, and `waiting` remain.
  void add(std::int64_t admitted, std::int64_t waiting, double now);
  /// Returns the mean seconds between admissions; rises while none happens. 0 before 8 admissions.
  double seconds_each(double now) const;

 private:
  std::optional<double> since_;  ///< time of the last counted admission; empty: no request waits
  double admitted_ = 0;          ///< number of admissions; older ones count less
  double seconds_ = 0;           ///< seconds between these admissions; older ones count less
};

}  // namespace ingot
