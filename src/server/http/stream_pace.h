// StreamPace: how often a thread sends what its streams have.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>

#include "server/http/token_bucket.h"

namespace ingot {

/// Shares what sending may cost among the streams of a thread: sending an event costs more than a
/// token of a small model. While all of its streams together have few events, each token goes out
/// as it comes; beyond that, those of an interval go out together, which is longer the more streams
/// there are. For one thread.
class StreamPace {
 public:
  /// Of all moments here.
  using Clock = TokenBucket::Clock;
  /// An event costs some 17 us, so that 313 a second take 0.5 % of a core. The first one
  /// of a stream, which is counted too, and the last one, which is not, wait for nothing: of short
  /// replies they are two of some five.
  static constexpr Clock::duration kPerEvent = std::chrono::microseconds(3200);
  static constexpr int kBurst = 64;  ///< events that can be saved up, or owed
  /// From so many streams on the interval does not grow: more of them cost more.
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
  int streams_ = 0;  ///< that have begun to send
  TokenBucket events_{kPerEvent, kBurst};
};

}  // namespace ingot
