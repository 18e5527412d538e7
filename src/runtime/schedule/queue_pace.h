// QueuePace: seconds between two admissions, measured while requests wait.
#pragma once

#include <cstdint>
#include <optional>

namespace ingot {

/// The mean over some 64 admissions, and the time since the last one as if it ended now. Measures
/// only while requests wait: without a queue it would measure arrivals. Has no clock: callers pass
/// times.
class QueuePace {
 public:
  /// At `now`, `admitted` requests were admitted since the last call, and `waiting` still wait.
  void add(std::int64_t admitted, std::int64_t waiting, double now);
  /// Seconds from one admission to the next, at `now`; 0 before eight were measured.
  double seconds_each(double now) const;

 private:
  std::optional<double> since_;  ///< the time that is counted up to, while requests wait
  double admitted_ = 0;          ///< older ones count less
  double seconds_ = 0;
};

}  // namespace ingot
