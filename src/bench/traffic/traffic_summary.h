// TrafficSummary: the figures of a serving benchmark, by the names that are usual for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bench/traffic/served_request.h"

namespace ingot {

/// Some numbers in a few; 0 where there are none.
struct Distribution {
  double mean = 0;
  double median = 0;
  double std = 0;  ///< of these numbers, not of what they may be a sample of
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
};

/// The distribution of `values`.
Distribution distribution(std::vector<double> values);

/// What a request has to keep to count as served well, in milliseconds.
struct Goodput {
  std::optional<double> ttft_ms{};
  std::optional<double> tpot_ms{};
  std::optional<double> e2el_ms{};

  bool is_asked() const { return ttft_ms || tpot_ms || e2el_ms; }
};

/// A run in figures; of the requests that were completed where nothing else is said.
struct TrafficSummary {
  double duration = 0;  ///< seconds from the beginning to the last token
  std::int64_t completed = 0;
  std::int64_t busy = 0;    ///< refused, as the queue was full
  std::int64_t failed = 0;  ///< ended early
  std::int64_t input_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< of them
  std::int64_t output_tokens = 0;
  std::int64_t good = 0;  ///< kept what `Goodput` says
  Distribution ttft_ms;   ///< time to the first token, from the arrival
  Distribution queue_ms;  ///< time to the first step that it had rows in, from the arrival
  Distribution tpot_ms;   ///< time for each further token, by request; of more than one token
  Distribution itl_ms;    ///< time between pieces, all requests together
  Distribution e2el_ms;   ///< time to the last token, from the arrival

  /// `count` a second.
  double per_second(std::int64_t count) const {
    return duration > 0 ? static_cast<double>(count) / duration : 0;
  }
  /// The part of all prompt tokens that was cached.
  double cache_hit_rate() const {
    return input_tokens > 0 ? static_cast<double>(cached_tokens) / static_cast<double>(input_tokens)
                            : 0;
  }
};

/// Adds up what became of the requests of a run.
TrafficSummary summarise(std::span<const ServedRequest> served, const Goodput& goodput);

}  // namespace ingot
