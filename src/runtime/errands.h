// Errands: calls of other threads that the engine's thread runs between two steps.
#pragma once

#include <functional>
#include <future>

#include "base/bounded_queue.h"
#include "runtime/doorbell.h"

namespace ingot {

/// A bounded queue of calls. Any thread queues a call and waits for its end; one thread runs them.
class Errands {
 public:
  /// `bell` wakes the thread that runs the calls, and outlives this.
  explicit Errands(Doorbell& bell);

  /// Queues `body` and returns after it ran. Rethrows what it throws.
  ///
  /// Errors: Error{kUnavailable} after `close` or `drop`, or when too many calls wait.
  void call(const std::function<void()>& body);

  /// Runs the calls that are in the queue now. Calls that they queue run the next time.
  void run();
  /// Refuses further calls. Those in the queue still run.
  void close() { queue_.close(); }
  /// Refuses further calls, and ends those in the queue with Error{kUnavailable}.
  void drop();

 private:
  Doorbell& bell_;
  BoundedQueue<std::packaged_task<void()>> queue_;
};

}  // namespace ingot
