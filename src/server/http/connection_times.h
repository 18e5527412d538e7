// Timeouts and minimum rates of a connection, and the interval at which streams send.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace ingot {

/// Timeouts of a connection's states.
struct ConnectionTimes {
  /// Timeout from a head's first byte to the head's end. The timeout is short, because a head fits
  /// into a few packets, and because a slow client occupies a connection until the head ends.
  std::chrono::milliseconds head{10'000};
  /// Timeout from a head's end to the body's end. 8 MiB take 60 s at 1.1 Mbit/s.
  std::chrono::milliseconds body{60'000};
  /// Grace period of a body before the minimum rate `body_bytes_per_second` applies. Any link has
  /// this rate. Without a minimum rate, a client could hold a body's memory for the time `body`.
  std::chrono::milliseconds body_grace{5'000};
  std::size_t body_bytes_per_second = 1024;
  /// Timeout until the next request begins. Longer than common proxies keep idle connections (nginx
  /// and Amazon's load balancers 60 s, some clients 75 s): a request that a proxy sends while the
  /// server closes the connection would fail.
  std::chrono::milliseconds idle{90'000};
  /// Time within which the client must take 16 KiB. Otherwise the connection closes.
  std::chrono::milliseconds write_stall{30'000};
  /// Minimum rate (bytes/s) at which a client must take a response. Applies after `write_stall`.
  std::size_t sent_bytes_per_second = 16 << 10;
  /// Time without events after which a stream sends a comment, since proxies cut silent responses
  /// (nginx after 60 s by default). A shorter time would only add bytes.
  std::chrono::milliseconds ping{10'000};
  std::chrono::milliseconds linger{1'000};  ///< time for the client to read before the close
  /// Number of requests after which a connection closes, so that load balancers can move clients to
  /// other servers. A small number causes frequent handshakes.
  int requests_max = 1000;
  /// Interval at which a stream sends its new tokens; 0: at once; absent: as StreamPace says.
  std::optional<std::chrono::milliseconds> gather = std::nullopt;
};

}  // namespace ingot
