// Doorbell: wakes one thread that sleeps while it has nothing to do.
#pragma once

#include <condition_variable>
#include <mutex>

namespace ingot {

/// Any thread rings, one thread waits. A ring before the wait is kept; several rings count as one.
class Doorbell {
 public:
  void ring();
  /// Waits until the bell is rung.
  void wait();
  /// Waits until the bell is rung, but at most `seconds`. Returns whether it was rung.
  bool wait_for(double seconds);
  /// Returns at once. The result says whether the bell was rung since the last wait or `take`.
  bool take();

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  bool is_rung_ = false;
};

}  // namespace ingot
