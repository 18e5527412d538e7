// TokenBucket: how much may happen within a time, with a burst saved up.
#pragma once

#include <algorithm>
#include <chrono>

namespace ingot {

/// Counts in time: each event costs some, and what passes is saved up for a burst of them. As much
/// can be owed. Full at first. For one thread.
class TokenBucket {
 public:
  /// Of all moments here.
  using Clock = std::chrono::steady_clock;

  TokenBucket(Clock::duration cost, int burst) : cost_(cost), most_(burst * cost), saved_(most_) {}

  /// An event: what is saved up behind it; less than nothing is owed.
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
