// ServedRequest: what became of a request of a serving benchmark, whoever served it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

/// What became of a request. Times are seconds since the run began.
struct ServedRequest {
  double start = 0;            ///< its arrival, or when its turn came in a closed loop
  double queue = 0;            ///< from there to the first step that it had rows in
  double first = 0;            ///< its first token
  double last = 0;             ///< its last token
  std::vector<double> gaps{};  ///< from each piece to the next
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  std::vector<std::int32_t> ids{};        ///< of those that are checked
  std::optional<std::uint64_t> digest{};  ///< the same
  bool is_busy = false;                   ///< refused: the queue was full
  std::string error{};                    ///< what ended it early

  bool is_completed() const { return !is_busy && error.empty(); }
  /// Whether two runs of one request, both checked, gave the same bits.
  bool has_output_of(const ServedRequest& other) const {
    return digest == other.digest && ids == other.ids;
  }
};

}  // namespace ingot
