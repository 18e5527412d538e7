// Doorbell: wakes one thread that sleeps while it has nothing to do.
#pragma once

#include <condition_variable>
#include <mutex>

namespace ingot {

/// Any thread may ring, and one thread waits. Several rings before a wait count as one ring.
class Doorbell {
 public:
  void ring();
  /// Waits until the bell is rung.
  void wait();
  /// Waits until the bell is rung, but at most `seconds`. Returns whether the bell was rung.
  bool wait_for(double seconds);
  /// Returns whether the bell was rung since the last wait or `take`. Does not wait.
  bool take();

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  bool is_rung_ = false;
};

}  // namespace ingot
