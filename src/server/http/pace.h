// Rate limits of a thread: on wake-ups that refuse requests, and on events that streams send.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace ingot {

/// A rate limiter. Each event takes `cost` from a budget, and elapsed time refills the budget.
/// The budget starts full, at `burst * cost`. Its minimum is `-burst * cost`. Not thread-safe.
class TokenBucket {
 public:
  /// The clock of all time points.
  using Clock = std::chrono::steady_clock;

  TokenBucket(Clock::duration cost, int burst) : cost_(cost), most_(burst * cost), saved_(most_) {}

  /// Takes an event's cost. Returns the remaining budget; negative if events came too fast.
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

/// Keeps a flood of refused requests from slowing the requests that run. After a burst of refusals,
/// the thread wakes at most every few milliseconds and reads all requests that came meanwhile.
/// Without refusals `rest` returns zero. For use by one thread.
class RefusalPace {
 public:
  using Clock = TokenBucket::Clock;
  static constexpr Clock::duration kPerWake = std::chrono::milliseconds(4);
  static constexpr int kBurst = 32;  ///< number of wake-ups with refusals before the limit applies

  /// Notes that a request was refused because there is no room.
  void refused() { has_refused_ = true; }

  /// Returns how long the thread must sleep after this wake: at most kPerWake.
  Clock::duration rest(Clock::time_point now) {
    if (!std::exchange(has_refused_, false)) return {};
    return std::max(-wakes_.take(now), Clock::duration::zero());
  }

 private:
  bool has_refused_ = false;
  TokenBucket wakes_{kPerWake, kBurst};
};

/// Limits how often a thread's streams send, since sending an event costs more than computing a
/// token of a small model. While streams send few events, they send each token at once. At
/// higher rates they send an interval's tokens together. More streams make the interval longer.
class StreamPace {
 public:
  /// The clock of all time points.
  using Clock = TokenBucket::Clock;
  /// Budget that one event uses: 3200 us allow 313 events a second. They take 0.5 % of
  /// a core: some 17 us of CPU each. A stream's first and last events never wait, since a short
  /// reply has only some five events. The first event uses budget; the last event uses none.
  static constexpr Clock::duration kPerEvent = std::chrono::microseconds(3200);
  static constexpr int kBurst = 64;  ///< maximum budget, and maximum debt, in events
  /// Number of streams up to which the interval grows. Each further stream costs more CPU.
  static constexpr int kStreamsMax = 32;

  /// Counts a stream that has begun to send.
  void begin_stream() { ++streams_; }
  /// Removes a stream that has ended.
  void end_stream() { --streams_; }

  /// Notes that an event was sent. Returns the time when the event's stream may send again;
  /// `now`: at once. An interval is kPerEvent times a power of two. All streams have the same
  /// intervals. So the thread wakes once for all streams, even if the number of streams changes.
  Clock::time_point sent(Clock::time_point now) {
    if (events_.take(now) >= Clock::duration::zero()) return now;
    const auto shared = std::bit_ceil(static_cast<std::uint32_t>(std::max(streams_, 1)));
    return end_of_interval(now, kPerEvent * std::min<std::int64_t>(shared, kStreamsMax));
  }

  /// Returns the first multiple of `interval` after `now`.
  static Clock::time_point end_of_interval(Clock::time_point now, Clock::duration interval) {
    return now - now.time_since_epoch() % interval + interval;
  }

 private:
  int streams_ = 0;  ///< number of streams that have begun to send and have not ended
  TokenBucket events_{kPerEvent, kBurst};
};

/// Limits how often one stream sends. The stream's first event adds the stream to `StreamPace`.
class PacedStream {
 public:
  /// `interval`: the stream sends at multiples of this time; 0: at once; absent: as `pace` says.
  PacedStream(StreamPace& pace, std::optional<std::chrono::milliseconds> interval)
      : pace_(pace), interval_(interval) {}
  ~PacedStream() {
    if (has_begun_) pace_.end_stream();
  }
  PacedStream(const PacedStream&) = delete;
  PacedStream& operator=(const PacedStream&) = delete;

  /// Notes that an event was sent. Returns when the stream may send again; `now`: at once.
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
