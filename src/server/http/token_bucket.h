// TokenBucket: limits how often something happens, with bursts.
#pragma once

#include <algorithm>
#include <chrono>

namespace ingot {

/// A budget in units of time: each event costs `cost`, and passing time refills the budget up to
/// `burst` events. As much can be owed. Full at first. For one thread.
class TokenBucket {
 public:
  /// The clock of all times.
  using Clock = std::chrono::steady_clock;

  TokenBucket(Clock::duration cost, int burst) : cost_(cost), most_(burst * cost), saved_(most_) {}

  /// Takes an event's cost; returns the remaining time, negative where time is owed.
  Clock::duration take(Clock::time_point now) {
    saved_ = std::max(std::min(saved_ + (now - last_), most_) - cost_, -most_);
    last_ = now;
    return saved_;
  }

 private:
  Clock::duration cost_;
  Clock::duration most_;
  Clock::duration saved_;
  Clock::time_point last_{};
};

}  // namespace ingot
