// Times of a connection, and how it sends.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace ingot {

/// How long a connection may be in each of its states.
struct ConnectionTimes {
  std::chrono::milliseconds head{10'000};         ///< from a head's first byte to its end
  std::chrono::milliseconds body{60'000};         ///< from a head's end to the body's
  std::chrono::milliseconds body_grace{5'000};    ///< after which the rate counts
  std::size_t body_bytes_per_second = 1024;       ///< the least, after that
  std::chrono::milliseconds idle{60'000};         ///< between requests
  std::chrono::milliseconds write_stall{30'000};  ///< while the other end takes next to nothing
  std::size_t sent_bytes_per_second = 16 << 10;  ///< the least that it takes of a whole, after that
  std::chrono::milliseconds ping{10'000};        ///< of silence in a stream, then a comment
  std::chrono::milliseconds linger{1'000};       ///< for the other end to read a last response
  int requests_max = 1000;
  /// In which pieces of a stream go out together; by StreamPace where none is said.
  std::optional<std::chrono::milliseconds> gather;
};

}  // namespace ingot
