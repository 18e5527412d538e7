// QueuePace: how fast requests that wait get their turn, learnt from those that had to.
#pragma once

#include <cstdint>
#include <optional>

namespace ingot {

/// Seconds from one admission to the next while others wait: a mean over some 64 of them, with the
/// time since the last one as if it ended now. Without a queue nothing is learnt, since then it is
/// arrivals that are far apart. No clock inside: times are told.
class QueuePace {
 public:
  /// At `now`, `admitted` have begun since the last call, and `waiting` have not.
  void add(std::int64_t admitted, std::int64_t waiting, double now);
  /// Seconds from one admission to the next, as it looks at `now`; 0 before some had to wait.
  double seconds_each(double now) const;

 private:
  std::optional<double> since_;  ///< the time up to which is counted, while some wait
  double admitted_ = 0;          ///< older ones count less
  double seconds_ = 0;
};

}  // namespace ingot
