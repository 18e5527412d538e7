// Errands: a queue of functions that other threads want the engine's thread to run between steps.
#pragma once

#include <functional>
#include <future>

#include "base/bounded_queue.h"
#include "runtime/doorbell.h"

namespace ingot {

/// A bounded queue of functions that any thread adds and waits for, and that one thread runs.
class Errands {
 public:
  /// `bell` wakes the thread that runs the functions. It must outlive this object.
  explicit Errands(Doorbell& bell);

  /// Queues `body` and waits until it has run. Rethrows the exceptions of `body`.
  ///
  /// Errors: Error{kUnavailable} after `close` or `drop`, or if the queue is full.
  void call(const std::function<void()>& body);

  /// Runs all functions that are in the queue now. Functions added meanwhile run at the next call.
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
