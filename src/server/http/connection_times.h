// Timeouts and minimum rates of a connection, and the interval at which streams send.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace ingot {

/// Timeouts of a connection's states.
struct ConnectionTimes {
  /// Timeout from a head's first byte to its end. Short, because a head fits into a few packets,
  /// and a client that sends it slowly holds a connection.
  std::chrono::milliseconds head{10'000};
  /// Timeout from a head's end to the body's end. 8 MiB take 60 s at 1.1 Mbit/s.
  std::chrono::milliseconds body{60'000};
  /// After this grace period a body must keep the rate `body_bytes_per_second`, which any link can.
  /// Otherwise a client could hold a body's memory for all of `body`.
  std::chrono::milliseconds body_grace{5'000};
  std::size_t body_bytes_per_second = 1024;
  std::chrono::milliseconds idle{60'000};  ///< timeout for the next request
  /// Timeout for the client to take 16 KiB. The connection closes if it takes less.
  std::chrono::milliseconds write_stall{30'000};
  /// Rate (bytes/s) at which a client must take a whole response, after `write_stall`.
  std::size_t sent_bytes_per_second = 16 << 10;
  /// Silence in a stream after which a comment is sent, since proxies cut silent responses (nginx
  /// after 60 s by default). Comments at a shorter interval would only add bytes.
  std::chrono::milliseconds ping{10'000};
  std::chrono::milliseconds linger{1'000};  ///< time for the client to read a last response
  /// Requests after which a connection closes, so that a load balancer spreads its clients anew. A
  /// small number costs a handshake for every few requests.
  int requests_max = 1000;
  /// Interval at which the tokens of a stream are sent together; absent: StreamPace chooses.
  std::optional<std::chrono::milliseconds> gather = std::nullopt;
};

}  // namespace ingot
