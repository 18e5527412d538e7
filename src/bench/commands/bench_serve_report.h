// What `ingot bench serve-inproc` found, as text, JSON or Markdown.
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
  std::int64_t checked_cached = 0;  ///< tokens of their prompts that were not computed again
  std::int64_t mismatches = 0;      ///< of them, those that gave something else
  Settings settings;
};

/// One JSON object on one line, in the form of cli.md.
std::string as_json(const ServeReport& report);
/// The same for people, in tables of this form.
std::string as_tables(const ServeReport& report, const Frame& frame);

}  // namespace ingot
