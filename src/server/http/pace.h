// Rate limits of a thread: how often it refuses requests, and how often its streams send.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace ingot {

/// A rate limiter: each event costs `cost`, and passing time refills the budget up to `burst`
/// events. The budget starts full and can fall equally far below zero. For one thread.
class TokenBucket {
 public:
  /// The clock of all time points.
  using Clock = std::chrono::steady_clock;

  TokenBucket(Clock::duration cost, int burst) : cost_(cost), most_(burst * cost), saved_(most_) {}

  /// Takes an event's cost. Returns the budget that is left; negative if the events came too fast.
  Clock::duration take(Clock::time_point now) {
    saved_ = std::max(std::min(saved_ + (now - last_), most_) - cost_, -most_);
    last_ = now;
    return saved_;
  }

 private:
  Clock::duration cost_;
  Clock::duration most_;
  Clock::duration saved_;
  Clock::time_point last_{};
};

/// Keeps a flood of refused requests from interrupting running ones. After a burst of refusals, the
/// thread wakes at most every few milliseconds and reads all requests that came meanwhile. Requests
/// that are served are not delayed. For one thread.
class RefusalPace {
 public:
  using Clock = TokenBucket::Clock;
  static constexpr Clock::duration kPerWake = std::chrono::milliseconds(4);
  static constexpr int kBurst = 32;  ///< wakes before the pace applies

  /// Notes that a request was refused because there is no room.
  void refused() { has_refused_ = true; }

  /// How long the thread sleeps after this wake, at most kPerWake.
  Clock::duration rest(Clock::time_point now) {
    if (!std::exchange(has_refused_, false)) return {};
    return std::max(-wakes_.take(now), Clock::duration::zero());
  }

 private:
  bool has_refused_ = false;
  TokenBucket wakes_{kPerWake, kBurst};
};

/// Limits how often the streams of a thread send, since an event costs more than a token of a small
/// model. While the streams send few events, each token is sent at once. Beyond that, tokens of an
/// interval are sent together; more streams make it longer. For one thread.
class StreamPace {
 public:
  /// The clock of all time points.
  using Clock = TokenBucket::Clock;
  /// Time that each event costs. An event takes some 17 us of CPU, so that 313 a second take 0.5 %
  /// of a core. The first event of a stream (counted) and its last one (not counted) never wait: a
  /// short reply has some five events.
  static constexpr Clock::duration kPerEvent = std::chrono::microseconds(3200);
  static constexpr int kBurst = 64;  ///< events of unused budget, or of debt, at most
  /// Number of streams up to which the interval grows; more streams cost more CPU.
  static constexpr int kStreamsMax = 32;

  /// Counts a stream that has begun to send.
  void begin_stream() { ++streams_; }
  /// Removes a stream that has ended.
  void end_stream() { --streams_; }

  /// Notes that an event was sent. Returns when its stream may send again: `now` if at once.
  /// Intervals are powers of two times one unit and begin at equal moments for all streams, so that
  /// the thread wakes once for all, even when their number changes.
  Clock::time_point sent(Clock::time_point now) {
    if (events_.take(now) >= Clock::duration::zero()) return now;
    const auto shared = std::bit_ceil(static_cast<std::uint32_t>(std::max(streams_, 1)));
    return end_of_interval(now, kPerEvent * std::min<std::int64_t>(shared, kStreamsMax));
  }

  /// The first multiple of `interval` after `now`.
  static Clock::time_point end_of_interval(Clock::time_point now, Clock::duration interval) {
    return now - now.time_since_epoch() % interval + interval;
  }

 private:
  int streams_ = 0;  ///< streams that have begun to send
  TokenBucket events_{kPerEvent, kBurst};
};

/// The pace of one stream. From its first event on it counts among its thread's streams.
class PacedStream {
 public:
  /// `interval`: send at multiples of it, or at once if it is 0. Absent: `pace` decides.
  PacedStream(StreamPace& pace, std::optional<std::chrono::milliseconds> interval)
      : pace_(pace), interval_(interval) {}
  ~PacedStream() {
    if (has_begun_) pace_.end_stream();
  }
  PacedStream(const PacedStream&) = delete;
  PacedStream& operator=(const PacedStream&) = delete;

  /// Notes that an event was sent. Returns when the stream may send again: `now` if at once.
  StreamPace::Clock::time_point sent(StreamPace::Clock::time_point now) {
    if (!has_begun_) pace_.begin_stream();
    has_begun_ = true;
    if (!interval_) return pace_.sent(now);
    return interval_->count() > 0 ? StreamPace::end_of_interval(now, *interval_) : now;
  }

 private:
  StreamPace& pace_;
  std::optional<std::chrono::milliseconds> interval_;
  bool has_begun_ = false;
};

}  // namespace ingot
