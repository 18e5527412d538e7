// RefusalPace: how often a flood of refused requests may wake a thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/http/token_bucket.h"

namespace ingot {

/// Keeps a flood of refused requests from interrupting running ones: beyond a burst, a thread that
/// refuses wakes at most every few milliseconds and reads all that came meanwhile. Requests that
/// are served are not delayed. For one thread.
class RefusalPace {
 public:
  using Clock = TokenBucket::Clock;
  static constexpr Clock::duration kPerWake = std::chrono::milliseconds(4);
  static constexpr int kBurst = 32;  ///< wakes

  /// A request was refused because there is no room.
  void refused() { has_refused_ = true; }

  /// How long to rest behind a wake, at most kPerWake.
  Clock::duration rest(Clock::time_point now) {
    if (!std::exchange(has_refused_, false)) return {};
    return std::max(-wakes_.take(now), Clock::duration::zero());
  }

 private:
  bool has_refused_ = false;
  TokenBucket wakes_{kPerWake, kBurst};
};

}  // namespace ingot
