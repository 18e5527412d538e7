// ServedRequest: the result of one request of a serving benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

/// The result of a request. `start`, `first` and `last` are seconds from the run's start.
struct ServedRequest {
  double start = 0;            ///< planned arrival; with a fixed concurrency, the actual start
  double queue = 0;            ///< seconds from `start` to its first step; for a server, to sending
  double first = 0;            ///< time of its first token
  double last = 0;             ///< time of its last token
  std::vector<double> gaps{};  ///< seconds between consecutive deltas
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  std::vector<std::int32_t> ids{};        ///< output of a checked request; otherwise empty
  std::optional<std::uint64_t> digest{};  ///< digest of a checked request's logits
  bool is_busy = false;                   ///< whether it was refused because of load
  std::string error{};                    ///< why it failed; empty on success

  bool is_completed() const { return !is_busy && error.empty(); }
  /// Whether this run and `other`, two runs of a request, gave equal ids and logits.
  bool has_output_of(const ServedRequest& other) const {
    return digest == other.digest && ids == other.ids;
  }
};

}  // namespace ingot
