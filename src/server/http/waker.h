// Waker: lets the engine's thread wake a connection that waits for deltas.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace ingot {

/// Runs a function in a connection's thread; at most one call of the function is queued at a time.
class Waker : public std::enable_shared_from_this<Waker> {
 public:
  Waker(boost::asio::any_io_executor executor, std::function<void()> wake)
      : executor_(std::move(executor)), wake_(std::move(wake)) {}

  /// For the engine's thread. Only an urgent call wakes a connection that gathers. Never throws.
  void notify(bool is_urgent) {
    if (is_urgent) is_urgent_.store(true);
    if (!is_urgent && gathers_.load()) return;
    if (is_posted_.exchange(true)) return;
    try {
      boost::asio::post(executor_, [self = shared_from_this()] {
        self->is_posted_.store(false);
        self->wake_();
      });
    } catch (const std::exception&) {
      // Out of memory. The connection checks its streams again after `ConnectionTimes::ping`.
      is_posted_.store(false);
    }
  }

  /// Starts gathering deltas: from now on only urgent notifications wake the connection. But if an
  /// urgent notification came since the last call, starts nothing and returns false: the connection
  /// must send at once. Called from the connection's thread.
  [[nodiscard]] bool begin_gathering() {
    gathers_.store(true);
    if (!is_urgent_.exchange(false)) return true;
    gathers_.store(false);
    return false;
  }
  void end_gathering() { gathers_.store(false); }
  /// From now on only urgent notifications wake the connection.
  void gather_until_urgent() { gathers_.store(true); }

 private:
  boost::asio::any_io_executor executor_;
  std::function<void()> wake_;
  std::atomic<bool> is_posted_{false};
  std::atomic<bool> gathers_{false};
  std::atomic<bool> is_urgent_{false};
};

}  // namespace ingot
