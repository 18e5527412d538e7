// Paces of a thread: how often it refuses requests, and how often its streams send.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace ingot {

/// A budget in units of time: each event costs `cost`, and passing time refills the budget up to
/// `burst` events. As much can be owed. Full at first. For one thread.
class TokenBucket {
 public:
  /// The clock of all times.
  using Clock = std::chrono::steady_clock;

  TokenBucket(Clock::duration cost, int burst) : cost_(cost), most_(burst * cost), saved_(most_) {}

  /// Takes an event's cost; returns the remaining time, negative where time is owed.
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

/// Keeps a flood of refused requests from interrupting running ones: beyond a burst, a thread that
/// refuses wakes at most every few milliseconds and reads all that came meanwhile. Requests that
/// are served are not delayed. For one thread.
class RefusalPace {
 public:
  using Clock = TokenBucket::Clock;
  static constexpr Clock::duration kPerWake = std::chrono::milliseconds(4);
  static constexpr int kBurst = 32;  ///< wakes

  /// A request was refused because there is no room.
  void refused() { has_refused_ = true; }

  /// How long to rest behind a wake, at most kPerWake.
  Clock::duration rest(Clock::time_point now) {
    if (!std::exchange(has_refused_, false)) return {};
    return std::max(-wakes_.take(now), Clock::duration::zero());
  }

 private:
  bool has_refused_ = false;
  TokenBucket wakes_{kPerWake, kBurst};
};

/// Limits how often the streams of a thread send: an event costs more than a token of a small
/// model. While the streams together send few events, each token is sent at once. Beyond that, the
/// tokens of an interval are sent together; more streams make the interval longer. For one thread.
class StreamPace {
 public:
  /// The clock of all times.
  using Clock = TokenBucket::Clock;
  /// An event costs some 17 us, so that 313 a second take 0.5 % of a core. The first one of a
  /// stream, which is counted too, and the last one, which is not, wait for nothing: of short
  /// replies they are two of some five.
  static constexpr Clock::duration kPerEvent = std::chrono::microseconds(3200);
  static constexpr int kBurst = 64;  ///< events that can be saved up, or owed
  /// The interval grows up to this number of streams; more streams cost more.
  static constexpr int kStreamsMax = 32;

  /// A stream has begun to send.
  void begin_stream() { ++streams_; }
  /// It has ended.
  void end_stream() { --streams_; }

  /// An event was sent: when to look for the next one of its stream, `now` for as soon as there is
  /// one. Intervals begin at the same moments for all streams, so that the thread wakes once for
  /// them, also while their number changes: each is half or twice another one.
  Clock::time_point sent(Clock::time_point now) {
    if (events_.take(now) >= Clock::duration::zero()) return now;
    const auto shared = std::bit_ceil(static_cast<std::uint32_t>(std::max(streams_, 1)));
    return end_of_interval(now, kPerEvent * std::min<std::int64_t>(shared, kStreamsMax));
  }

  /// The first moment behind `now` that is a multiple of the interval.
  static Clock::time_point end_of_interval(Clock::time_point now, Clock::duration interval) {
    return now - now.time_since_epoch() % interval + interval;
  }

 private:
  int streams_ = 0;  ///< streams that have begun to send
  TokenBucket events_{kPerEvent, kBurst};
};

/// One stream of a thread. It counts from its first event on.
class PacedStream {
 public:
  /// `interval`: events go out at its multiples, at once where it is 0; nothing: as `pace` says.
  PacedStream(StreamPace& pace, std::optional<std::chrono::milliseconds> interval)
      : pace_(pace), interval_(interval) {}
  ~PacedStream() {
    if (has_begun_) pace_.end_stream();
  }
  PacedStream(const PacedStream&) = delete;
  PacedStream& operator=(const PacedStream&) = delete;

  /// An event was sent: when to look for the next one, `now` for as soon as there is one.
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
