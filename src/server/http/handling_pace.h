// HandlingPace: whether small requests are handled in the thread that reads them.
#pragma once

#include <chrono>

namespace ingot {

/// A small request takes less time than the way to another thread and back, unless a template or a
/// tokenizer needs long for it. Where one did, the next ones go that way, so that the other
/// connections of the thread do not wait for them. For one thread.
class HandlingPace {
 public:
  /// Of all moments here.
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kLong = std::chrono::milliseconds(1);
  static constexpr Clock::duration kRest = std::chrono::seconds(10);

  /// Whether a small request may be handled here.
  bool is_quick(Clock::time_point now) const { return now >= slow_until_; }
  /// One was, and took so much of the thread's time on a CPU.
  void took(Clock::duration time, Clock::time_point now) {
    if (time > kLong) slow_until_ = now + kRest;
  }

 private:
  Clock::time_point slow_until_{};
};

}  // namespace ingot
