// Prints latencies and figures of a serving benchmark by their usual names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bench/traffic/traffic_summary.h"
#include "cli/table.h"

namespace ingot {

/// A latency and its name.
struct NamedLatency {
  std::string_view name;
  const Distribution& ms;
};

/// Adds its members to `j`: "mean_ttft_ms" and so on.
void add_latency(const NamedLatency& latency, Json& j);

/// A table with one line per latency.
std::string latency_table(std::span<const NamedLatency> latencies, const Frame& frame);

/// Figures as a table of two columns.
std::string figure_table(const Settings& figures, const Frame& frame);

}  // namespace ingot
