// ServedRequest: the result of one request of a serving benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

/// The result of a request. `start`, `first` and `last` are seconds from the run's start.
struct ServedRequest {
  double start = 0;            ///< planned arrival time; actual start if the concurrency is fixed
  double queue = 0;            ///< seconds from `start` to the first step, or to sending over HTTP
  double first = 0;            ///< time of the request's first token
  double last = 0;             ///< time of the request's last token
  std::vector<double> gaps{};  ///< seconds between consecutive pieces of output
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  std::vector<std::int32_t> ids{};        ///< output ids of a checked request; otherwise empty
  std::optional<std::uint64_t> digest{};  ///< digest of logits; only for a checked request
  bool is_busy = false;                   ///< whether the request was refused because of load
  std::string error{};                    ///< why the request failed; empty on success

  bool is_completed() const { return !is_busy && error.empty(); }
  /// Returns whether this run of a request and another run, `other`, gave equal ids and logits.
  bool has_output_of(const ServedRequest& other) const {
    return digest == other.digest && ids == other.ids;
  }
};

}  // namespace ingot
