// TransferRate: the speed of a transfer and the time that is left, for a line of progress.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace ingot {

/// Measures a transfer over the last seconds, so that the speed follows the network. The caller
/// gives the time, so tests need no clock.
class TransferRate {
 public:
  /// Records that `received` bytes had arrived at `seconds`. Both never decrease. The measurement
  /// begins with the last call before the first byte.
  void add(double seconds, std::uint64_t received);
  /// Returns the bytes per second of the window; 0 until the measurement has lasted a second.
  double bytes_per_second() const;
  /// Returns "12.3 MB/s, 1 h 02 min left" for `left` missing bytes; empty while the speed is
  /// unknown. A stalled transfer has no time: "0 B/s".
  std::string text(std::uint64_t left) const;

 private:
  struct Sample {
    double seconds = 0;
    std::uint64_t received = 0;
  };
  std::deque<Sample> samples_;  ///< oldest first
};

/// Formats bytes with three digits and a unit of powers of 1,000: "4.37 GB".
std::string size_text(std::uint64_t bytes);

/// Formats a duration with its two largest units: "8 s", "3 min 05 s", "1 h 02 min", "2 d 03 h".
std::string duration_text(double seconds);

}  // namespace ingot
