// The results of `ingot bench serve-inproc`, as text, JSON or Markdown.
#pragma once

#include <string>

#include "bench/traffic/traffic.h"
#include "bench/traffic/traffic_summary.h"
#include "cli/table.h"
#include "runtime/observe/engine_metrics.h"

namespace ingot {

/// A whole run.
struct ServeReport {
  TrafficSummary summary;
  bool has_goodput = false;
  CutLengths cut;
  EngineCounts engine;
  std::int64_t checked = 0;         ///< requests that were run again
  std::int64_t checked_cached = 0;  ///< tokens of their prompts that came from the cache
  std::int64_t mismatches = 0;      ///< checked requests with a different result
  Settings settings;
};

/// One JSON object on one line, in the form of cli.md.
std::string as_json(const ServeReport& report);
/// Tables with this frame.
std::string as_tables(const ServeReport& report, const Frame& frame);

}  // namespace ingot
