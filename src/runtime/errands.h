// Errands: a queue of functions that the engine's thread runs between steps for other threads.
#pragma once

#include <functional>
#include <future>

#include "base/bounded_queue.h"
#include "runtime/doorbell.h"

namespace ingot {

/// A bounded queue of functions. A call adds a function and waits until the engine's thread ran it.
class Errands {
 public:
  /// `bell` wakes the thread that runs the functions, and must outlive this object.
  explicit Errands(Doorbell& bell);

  /// Queues `body` and waits until it has run. Rethrows the exceptions of `body`.
  ///
  /// Errors: Error{kUnavailable} after `close` or `drop`, or if the queue is full.
  void call(const std::function<void()>& body);

  /// Runs all functions that are in the queue now. Later functions wait for the next `run`.
  void run();
  /// Refuses further calls. Queued functions still run.
  void close() { queue_.close(); }
  /// Refuses further calls, and ends waiting calls with Error{kUnavailable}.
  void drop();

 private:
  Doorbell& bell_;
  BoundedQueue<std::packaged_task<void()>> queue_;
};

}  // namespace ingot
