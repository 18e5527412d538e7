// Stream: what comes out of a request, piece by piece, on the reader's side.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kv/prefix_index.h"
#include "runtime/delta_queue.h"
#include "runtime/notify.h"
#include "runtime/schedule/clock.h"

namespace ingot {

/// Why a continuation ended.
enum class FinishReason {
  kStop,       ///< a stop token was drawn, or a stop string appeared
  kLength,     ///< max_tokens or the context's end
  kCancelled,  ///< the reader said so, or the engine was stopped
  kError,      ///< `Outcome::error` says which
};

inline constexpr std::size_t kFinishReasons = 4;

/// "stop", "length", "cancelled" or "error".
std::string_view to_string(FinishReason reason);

/// How a request ended, and what is known only then.
struct Outcome {
  FinishReason finish = FinishReason::kCancelled;
  std::int32_t stop = -1;  ///< which of Request::stop ended the text; -1: none of them
  std::optional<Error> error;
  std::optional<std::uint64_t> digest;  ///< where asked for
  /// From the prompt's second token on, or from the one that was asked for.
  std::vector<TokenLogprobs> prompt_logprobs;
  std::vector<float> hidden;  ///< [rows, H], where asked for
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;     ///< of them, those that were computed before
  PrefixMiss miss;                    ///< where those end, and why; for operators alone
  std::int32_t preemptions = 0;       ///< times that it had to give way while its reader kept up
  std::int64_t generated_tokens = 0;  ///< ids delivered
  double queue_seconds = 0;           ///< from submission to admission
  double prefill_seconds = 0;         ///< from admission to the first token drawn
  double decode_seconds = 0;          ///< from there to the last
  std::int64_t decode_steps = 0;      ///< tokens drawn after the first

  /// 16 hexadecimal digits; empty where no digest was asked for.
  std::string digest_text() const;
};

/// Wakes one thread that sleeps when it has nothing to do.
class Doorbell {
 public:
  void ring();
  /// Returns once it has been rung since the last return.
  void wait();
  /// The same, or when so many seconds have passed. Whether it has been rung.
  bool wait_for(double seconds);
  /// Whether it has been rung since the last return, which this is one.
  bool take();

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  bool is_rung_ = false;
};

/// What an engine and one reader share.
struct Channel {
  Channel(std::size_t deltas_max, std::shared_ptr<Doorbell> doorbell,
          std::shared_ptr<const Clock> engine_clock, Notify reader = {})
      : deltas(deltas_max),
        bell(std::move(doorbell)),
        clock(std::move(engine_clock)),
        notify(std::move(reader)) {}

  /// Hands a piece over; false when there is no room.
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

  /// What it throws against its promise is lost: it is the reader's, and the engine's thread serves
  /// others too.
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

/// The reading end of a request. One thread reads it; it may outlive the engine. Who drops it
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

  /// The next piece, waiting for it; nothing at the end. For engines with a thread.
  std::optional<Delta> next();
  /// The next piece if there is one now.
  std::optional<Delta> try_next();
  /// The same in place of `delta`, whose memory is used again; false where there is none.
  [[nodiscard]] bool try_next(Delta& delta);
  /// Whether the request has ended and every piece was read.
  bool finished() const { return channel_->deltas.is_closed() && channel_->deltas.size() == 0; }
  /// How the request ended, once `next` has returned nothing or `finished` is true.
  const Outcome& outcome() const;

  /// Ends the request soon; from any thread. Pieces already there can still be read.
  void cancel();

 private:
  void tell_taken() const;

  std::uint64_t id_ = 0;
  std::shared_ptr<Channel> channel_;
};

}  // namespace ingot
