// Formats latencies and figures of a serving benchmark, with their usual names (ttft, tpot).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bench/traffic/traffic_summary.h"
#include "cli/table.h"

namespace ingot {

/// The distribution of a latency, and its name.
struct NamedLatency {
  std::string_view name;
  const Distribution& ms;
};

/// Adds the statistics of a latency to `j`: "mean_ttft_ms" and so on.
void add_latency(const NamedLatency& latency, Json& j);

/// Formats latencies as a table with one line for each latency.
std::string latency_table(std::span<const NamedLatency> latencies, const Frame& frame);

/// Formats figures as a table of names and values.
std::string figure_table(const Settings& figures, const Frame& frame);

}  // namespace ingot
