// ServedRequest: the result of one request of a serving benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

/// The result of a request. Times are seconds from the run's start.
struct ServedRequest {
  double start = 0;            ///< its arrival; in a closed loop, when it was due
  double queue = 0;            ///< time from `start` to its first step
  double first = 0;            ///< its first token
  double last = 0;             ///< its last token
  std::vector<double> gaps{};  ///< from each piece to the next
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  std::vector<std::int32_t> ids{};        ///< ids of a checked request
  std::optional<std::uint64_t> digest{};  ///< digest of a checked request
  bool is_busy = false;                   ///< refused: the queue was full
  std::string error{};                    ///< why it ended early

  bool is_completed() const { return !is_busy && error.empty(); }
  /// Whether two checked runs of one request gave equal bits.
  bool has_output_of(const ServedRequest& other) const {
    return digest == other.digest && ids == other.ids;
  }
};

}  // namespace ingot
