// Stream: a reader's side of a request. Reads deltas and the outcome, and cancels the request.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/delta_queue.h"
#include "runtime/doorbell.h"
#include "runtime/notify.h"
#include "runtime/outcome.h"
#include "runtime/schedule/clock.h"

namespace ingot {

/// The state that an engine and the reader of one choice share.
struct Channel {
  Channel(std::size_t deltas_max, std::shared_ptr<Doorbell> doorbell,
          std::shared_ptr<const Clock> engine_clock, Notify reader = {})
      : deltas(deltas_max),
        bell(std::move(doorbell)),
        clock(std::move(engine_clock)),
        notify(std::move(reader)) {}

  /// Queues a delta and notifies the reader. Returns false if the queue is full.
  [[nodiscard]] bool push(Delta&& delta) {
    const bool pushed = deltas.try_push(std::move(delta));
    if (pushed) tell_reader(deltas.size() >= deltas.capacity() / 2);
    return pushed;
  }
  /// Ends the stream and notifies the reader. Write `outcome` before this call.
  void close() {
    deltas.close();
    tell_reader(true);
  }

  /// Calls `notify`. Ignores its exceptions, because the engine's thread serves other readers too.
  void tell_reader(bool is_urgent) noexcept {
    try {
      if (notify) notify(is_urgent);
    } catch (...) {
    }
  }

  bool is_cancelled() const { return cancelled_at.load(std::memory_order_relaxed) < kNever; }

  DeltaQueue deltas;                         ///< only the engine pushes to it and closes it
  std::int64_t cached_tokens = 0;            ///< the engine writes it before the first delta
  Outcome outcome;                           ///< the engine writes it before it closes `deltas`
  std::atomic<bool> has_started{false};      ///< whether a step had a row of the choice
  std::atomic<double> cancelled_at{kNever};  ///< time of the first cancel; kNever if there is none
  std::shared_ptr<Doorbell> bell;            ///< wakes the engine
  std::shared_ptr<const Clock> clock;  ///< the engine's clock; not called once `deltas` is closed
  Notify notify;
};

/// Reads the deltas of one choice. Only one thread may read. A stream may outlive the engine. The
/// destructor of a stream cancels the request.
class Stream {
 public:
  Stream(std::uint64_t id, std::shared_ptr<Channel> channel)
      : id_(id), channel_(std::move(channel)) {}
  Stream(Stream&& other) noexcept = default;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream() { cancel(); }

  /// Returns the id of the choice. The engine counts ids from 1.
  std::uint64_t id() const { return id_; }

  /// Waits for the next delta. Returns an empty optional at the end. Needs an engine with a thread.
  std::optional<Delta> next();
  /// Returns the next delta, or an empty optional if there is no delta now.
  std::optional<Delta> try_next();
  /// Moves the next delta into the memory of `delta`. Returns false if there is no delta now.
  [[nodiscard]] bool try_next(Delta& delta);
  /// Returns whether the request has left the queue. From any thread.
  bool has_started() const { return channel_->has_started.load(std::memory_order_relaxed); }
  /// Returns whether the request has ended and the reader has read every delta.
  bool finished() const { return channel_->deltas.is_closed() && channel_->deltas.size() == 0; }
  /// Returns how the request ended. Requires that `next` returned nullopt or `finished` was true.
  const Outcome& outcome() const;

  /// Asks the engine to end the request. From any thread. The reader can still read queued deltas.
  void cancel();

 private:
  void tell_taken() const;

  std::uint64_t id_ = 0;
  std::shared_ptr<Channel> channel_;
};

}  // namespace ingot
