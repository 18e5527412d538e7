// Doorbell: a flag under a mutex, and a condition variable.
#include "runtime/doorbell.h"

#include <chrono>
#include <utility>

namespace ingot {

void Doorbell::ring() {
  {
    const std::lock_guard lock(mutex_);
    is_rung_ = true;
  }
  rung_.notify_one();
}

void Doorbell::wait() {
  std::unique_lock lock(mutex_);
  rung_.wait(lock, [this] { return is_rung_; });
  is_rung_ = false;
}

bool Doorbell::wait_for(double seconds) {
  std::unique_lock lock(mutex_);
  rung_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_rung_; });
  return std::exchange(is_rung_, false);
}

bool Doorbell::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(is_rung_, false);
}

}  // namespace ingot
