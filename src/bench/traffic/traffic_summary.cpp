// Computes a serving benchmark's figures from the results of its requests.
#include "bench/traffic/traffic_summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/statistics.h"

namespace ingot {

namespace {

constexpr double kMs = 1e3;

/// A request's latencies in milliseconds.
struct Latencies {
  double ttft = 0, tpot = 0, e2el = 0;

  explicit Latencies(const ServedRequest& r)
      : ttft((r.first - r.start) * kMs),
        tpot(r.output_tokens > 1
                 ? (r.last - r.first) * kMs / static_cast<double>(r.output_tokens - 1)
                 : 0),
        e2el((r.last - r.start) * kMs) {}

  bool keeps(const Goodput& goodput) const {
    return ttft <= goodput.ttft_ms.value_or(ttft) && tpot <= goodput.tpot_ms.value_or(tpot) &&
           e2el <= goodput.e2el_ms.value_or(e2el);
  }
};

}  // namespace

Distribution distribution(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double median = percentile(values, 50);
  return {.mean = mean,
          .median = median,
          .std = std::sqrt(squares / count),
          .p50 = median,
          .p90 = percentile(values, 90),
          .p99 = percentile(values, 99)};
}

TrafficSummary summarise(std::span<const ServedRequest> served, const Goodput& goodput) {
  TrafficSummary sum;
  std::vector<double> ttft, queue, tpot, itl, e2el;
  for (const ServedRequest& r : served) {
    sum.duration = std::max(sum.duration, r.last);
    if (!r.is_completed()) {
      ++(r.is_busy ? sum.busy : sum.failed);
      continue;
    }
    ++sum.completed;
    sum.input_tokens += r.prompt_tokens;
    sum.cached_tokens += r.cached_tokens;
    sum.output_tokens += r.output_tokens;
    const Latencies latencies(r);
    if (latencies.keeps(goodput)) ++sum.good;
    ttft.push_back(latencies.ttft);
    queue.push_back(r.queue * kMs);
    e2el.push_back(latencies.e2el);
    if (r.output_tokens > 1) tpot.push_back(latencies.tpot);
    for (const double gap : r.gaps) itl.push_back(gap * kMs);
  }
  sum.ttft_ms = distribution(std::move(ttft));
  sum.queue_ms = distribution(std::move(queue));
  sum.tpot_ms = distribution(std::move(tpot));
  sum.itl_ms = distribution(std::move(itl));
  sum.e2el_ms = distribution(std::move(e2el));
  return sum;
}

}  // namespace ingot
