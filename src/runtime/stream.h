// Stream: the reader's end of a request: its deltas, and how it ended.
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

/// What an engine and one reader share.
struct Channel {
  Channel(std::size_t deltas_max, std::shared_ptr<Doorbell> doorbell,
          std::shared_ptr<const Clock> engine_clock, Notify reader = {})
      : deltas(deltas_max),
        bell(std::move(doorbell)),
        clock(std::move(engine_clock)),
        notify(std::move(reader)) {}

  /// Hands a delta over; false when there is no room.
  [[nodiscard]] bool push(Delta&& delta) {
    const bool pushed = deltas.try_push(std::move(delta));
    if (pushed) tell_reader(deltas.size() >= deltas.capacity() / 2);
    return pushed;
  }
  /// The end, after `outcome` was written.
  void close() {
    deltas.close();
    tell_reader(true);
  }

  /// Ignores exceptions, which `notify` must not throw: the engine's thread serves other readers
  /// too.
  void tell_reader(bool is_urgent) noexcept {
    try {
      if (notify) notify(is_urgent);
    } catch (...) {
    }
  }

  bool is_cancelled() const { return cancelled_at.load(std::memory_order_relaxed) < kNever; }

  DeltaQueue deltas;                         ///< closed at the end; the engine alone pushes
  Outcome outcome;                           ///< written before `deltas` is closed, read afterwards
  std::atomic<double> cancelled_at{kNever};  ///< by `clock`, the first time
  std::shared_ptr<Doorbell> bell;
  std::shared_ptr<const Clock> clock;  ///< not asked once `deltas` is closed
  Notify notify;
};

/// The reading end of one choice. One thread reads it. It may outlive the engine. Destroying it
/// cancels the request.
class Stream {
 public:
  Stream(std::uint64_t id, std::shared_ptr<Channel> channel)
      : id_(id), channel_(std::move(channel)) {}
  Stream(Stream&& other) noexcept = default;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream() { cancel(); }

  /// The request's number, from 1.
  std::uint64_t id() const { return id_; }

  /// Waits for the next delta; nothing at the end. For engines with a thread.
  std::optional<Delta> next();
  /// The next delta if there is one now.
  std::optional<Delta> try_next();
  /// Moves the next delta into `delta`, whose memory is used again; false if there is none.
  [[nodiscard]] bool try_next(Delta& delta);
  /// Whether the request has ended and every delta was read.
  bool finished() const { return channel_->deltas.is_closed() && channel_->deltas.size() == 0; }
  /// How the request ended, once `next` has returned nothing or `finished` is true.
  const Outcome& outcome() const;

  /// Ends the request soon. From any thread. Deltas already there can still be read.
  void cancel();

 private:
  void tell_taken() const;

  std::uint64_t id_ = 0;
  std::shared_ptr<Channel> channel_;
};

}  // namespace ingot
