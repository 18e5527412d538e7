// Formats the results of `ingot bench serve` as text, JSON or Markdown.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/commands/bench_server_options.h"
#include "bench/commands/latency_report.h"
#include "bench/traffic/served_request.h"
#include "bench/traffic/traffic.h"
#include "bench/traffic/traffic_summary.h"
#include "cli/table.h"

namespace ingot {

/// The results of one run at one load.
struct ServerRun {
  LoadPoint load;
  std::vector<ServedRequest> served;
  TrafficSummary summary;
  Distribution rejected_ms;  ///< time from a refused request's arrival to its response, in ms
  CutLengths cut;            ///< how many prompts and outputs were cut to --ctx
  /// Number of requests that were not completed, for each HTTP status. The key "connection" means
  /// that no response came; "stream" means that a stream with status 200 broke.
  std::map<std::string, std::int64_t> errors_by_status;
  double send_delay_ms_max = 0;    ///< longest time between a request's arrival and its sending
  std::int64_t reconnects = 0;     ///< number of requests sent again on a new connection
  std::int64_t without_usage = 0;  ///< number of completed requests without reported token counts
  std::optional<std::int64_t> preemptions;  ///< number of preemptions; absent if not reported
  std::int64_t checked = 0;                 ///< number of requests sent again to compare texts
  std::int64_t mismatches = 0;              ///< number of checked requests with a different text
  std::int64_t check_failed = 0;            ///< number of checked requests whose rerun failed
  bool says_cached = false;                 ///< whether the server reports cached tokens
  std::string first_error;                  ///< error of the first failed request; empty if none
};

/// The results of all runs: several for a sweep, otherwise one.
struct ServerReport {
  std::vector<ServerRun> runs;
  bool is_sweep = false;
  bool has_goodput = false;
  Settings settings;
  Settings identity{};  ///< date, model and other values, with the names that vLLM's benchmark uses
};

/// Returns the named figures of a run, except latencies.
Settings server_figures(const ServerRun& run, bool has_goodput);

/// Returns the named latencies of a run.
std::vector<NamedLatency> server_latencies(const ServerRun& run);

/// Formats the report as one JSON object on one line; a sweep has an array `rows`.
std::string as_json(const ServerReport& report);
/// Formats the report as tables; `frame` is the text around cells.
std::string as_tables(const ServerReport& report, const Frame& frame);

/// Returns the name of a load in tables: "rate 2" or "concurrency 4".
std::string load_name(const LoadPoint& load);

}  // namespace ingot
