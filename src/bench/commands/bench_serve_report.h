// Formats the results of `ingot bench serve-inproc` as text, JSON or Markdown.
#pragma once

#include <string>

#include "bench/traffic/traffic.h"
#include "bench/traffic/traffic_summary.h"
#include "cli/table.h"
#include "runtime/observe/engine_metrics.h"

namespace ingot {

/// The results of one run.
struct ServeReport {
  TrafficSummary summary;
  bool has_goodput = false;
  CutLengths cut;  ///< how many prompts and outputs were cut to the context
  EngineCounts engine;
  std::int64_t checked = 0;         ///< number of requests that were run again, each alone
  std::int64_t checked_cached = 0;  ///< number of prompt tokens that the reruns found in the cache
  std::int64_t mismatches = 0;      ///< number of checked requests with a different result
  Settings settings;
};

/// Formats the report as one JSON object on one line.
std::string as_json(const ServeReport& report);
/// Formats the report as tables; `frame` is the text around cells.
std::string as_tables(const ServeReport& report, const Frame& frame);

}  // namespace ingot
