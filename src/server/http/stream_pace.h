// StreamPace: how often a thread sends what its streams have.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>

#include "server/http/token_bucket.h"

namespace ingot {

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
