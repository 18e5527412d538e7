// QueuePace: measures the seconds between two admissions while requests wait.
#pragma once

#include <cstdint>
#include <optional>

namespace ingot {

/// Averages the time between admissions, over about the last 64 admissions. Skips time in which no
/// request waits, because arrivals then decide the time. Times are seconds of the caller's clock.
class QueuePace {
 public:
  /// Records `admitted` admissions since the last call. Afterwards, `waiting` requests still wait.
  void add(std::int64_t admitted, std::int64_t waiting, double now);
  /// Returns the mean seconds between admissions: 0 before 8 admissions; rising until the next one.
  double seconds_each(double now) const;

 private:
  std::optional<double> since_;  ///< start of the current measurement; empty: no request waits
  double admitted_ = 0;          ///< number of admissions, with a smaller weight for older ones
  double seconds_ = 0;           ///< seconds between these admissions, with the same weights
};

}  // namespace ingot
