// RefusalPace: how often a flood of refused requests may wake a thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace ingot {

/// Keeps a flood of requests for which there is no room from interrupting those that are computed:
/// beyond a burst, a thread that refuses wakes at most every few milliseconds, for all that came
/// meanwhile. Whoever is served pays nothing. For one thread.
class RefusalPace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kPerWake = std::chrono::milliseconds(4);
  static constexpr int kBurst = 32;  ///< wakes

  /// A request was refused for want of room.
  void refused() { has_refused_ = true; }

  /// How long to rest behind a wake, at most kPerWake.
  Clock::duration rest(Clock::time_point now) {
    if (!std::exchange(has_refused_, false)) return {};
    // Time that passes is saved up, and each wake uses some of it.
    saved_ = std::min(saved_ + (now - last_), kBurst * kPerWake) - kPerWake;
    last_ = now;
    return std::max(-saved_, Clock::duration::zero());
  }

 private:
  bool has_refused_ = false;
  Clock::time_point last_{};
  Clock::duration saved_ = kBurst * kPerWake;
};

}  // namespace ingot
