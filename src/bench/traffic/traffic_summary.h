// TrafficSummary: the figures of a serving benchmark, with their usual names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bench/traffic/served_request.h"

namespace ingot {

/// Statistics of measured values; all are 0 if there are no values.
struct Distribution {
  double mean = 0;
  double median = 0;
  double std = 0;  ///< population standard deviation
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
};

/// Computes the statistics of `values`.
Distribution distribution(std::vector<double> values);

/// Latency limits in milliseconds; absent: no limit. A request within all limits counts as good.
struct Goodput {
  std::optional<double> ttft_ms{};
  std::optional<double> tpot_ms{};
  std::optional<double> e2el_ms{};

  bool is_asked() const { return ttft_ms || tpot_ms || e2el_ms; }
};

/// The figures of a run. They cover completed requests, unless a comment says otherwise.
struct TrafficSummary {
  double duration = 0;  ///< seconds from the run's start to the last token
  std::int64_t completed = 0;
  std::int64_t busy = 0;    ///< number of requests refused because of load
  std::int64_t failed = 0;  ///< number of requests that failed or ended early
  std::int64_t input_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< number of input tokens that came from the cache
  std::int64_t output_tokens = 0;
  std::int64_t good = 0;  ///< number of requests within the limits of `Goodput`
  Distribution ttft_ms;   ///< time from the arrival to the first token
  Distribution queue_ms;  ///< time from the arrival to the request's first step
  Distribution tpot_ms;   ///< time per token after the first token, one value per request
  Distribution itl_ms;    ///< time between consecutive pieces of output, over all requests
  Distribution e2el_ms;   ///< time from the arrival to the last token

  /// Returns `count` per second of the run; 0 if `duration` is 0.
  double per_second(std::int64_t count) const {
    return duration > 0 ? static_cast<double>(count) / duration : 0;
  }
  /// Returns the fraction of prompt tokens that came from the cache.
  double cache_hit_rate() const {
    return input_tokens > 0 ? static_cast<double>(cached_tokens) / static_cast<double>(input_tokens)
                            : 0;
  }
};

/// Computes the figures of a run. `goodput` decides which requests count as good.
TrafficSummary summarise(std::span<const ServedRequest> served, const Goodput& goodput);

}  // namespace ingot
