// Times of a connection, and how it sends.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace ingot {

/// How long a connection may be in each of its states.
struct ConnectionTimes {
  /// From a head's first byte to its end. A head fits into a few packets; a client that sends it
  /// slowly holds a connection and nothing else, so this is short.
  std::chrono::milliseconds head{10'000};
  /// From a head's end to the body's end. 8 MiB take 60 s at 1.1 Mbit/s.
  std::chrono::milliseconds body{60'000};
  /// After the grace a body has to come at this rate (bytes/s), which any link has. Without it a
  /// client could hold a body's memory for all of `body`.
  std::chrono::milliseconds body_grace{5'000};
  std::size_t body_bytes_per_second = 1024;
  std::chrono::milliseconds idle{60'000};  ///< between requests
  /// While the other end takes next to nothing.
  std::chrono::milliseconds write_stall{30'000};
  /// Rate (bytes/s) at which the other end has to take a whole response, after `write_stall`.
  std::size_t sent_bytes_per_second = 16 << 10;
  /// Silence in a stream, after which a comment is sent: proxies cut silent responses (nginx after
  /// 60 s by default). Comments at a shorter interval would only add bytes.
  std::chrono::milliseconds ping{10'000};
  std::chrono::milliseconds linger{1'000};  ///< for the other end to read a last response
  /// Requests of one connection, after which it closes, so that clients of a load balancer spread
  /// anew. A small number costs a handshake for every few requests.
  int requests_max = 1000;
  /// In which pieces of a stream go out together; by StreamPace where none is said.
  std::optional<std::chrono::milliseconds> gather = std::nullopt;
};

}  // namespace ingot
