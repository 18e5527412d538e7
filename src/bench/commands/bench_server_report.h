// The results of `ingot bench serve`, as text, JSON or Markdown.
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

/// One run.
struct ServerRun {
  LoadPoint load;
  std::vector<ServedRequest> served;
  TrafficSummary summary;
  Distribution rejected_ms;  ///< time to the response of refused requests
  CutLengths cut;
  /// Requests that were not completed, by status; "connection" without a response, "stream" for a
  /// broken stream of status 200.
  std::map<std::string, std::int64_t> errors_by_status;
  double send_delay_ms_max = 0;    ///< longest time from a request's arrival to sending it
  std::int64_t reconnects = 0;     ///< requests sent again on a new connection
  std::int64_t without_usage = 0;  ///< completed requests without a token count from the server
  std::optional<std::int64_t> preemptions;  ///< absent when the server's metrics lack it
  std::int64_t checked = 0;                 ///< requests sent again, alone
  std::int64_t mismatches = 0;              ///< checked requests with a different text
  std::int64_t check_failed = 0;            ///< checked requests without a result to compare
  bool says_cached = false;                 ///< the server counts tokens of its prefix cache
  std::string first_error;
};

/// All runs, of a sweep or a single one.
struct ServerReport {
  std::vector<ServerRun> runs;
  bool is_sweep = false;
  bool has_goodput = false;
  Settings settings;
  Settings identity{};  ///< the settings that vLLM's benchmark reports beside its figures
};

/// The figures of a run by name, without latencies.
Settings server_figures(const ServerRun& run, bool has_goodput);

/// The latencies of a run by name.
std::vector<NamedLatency> server_latencies(const ServerRun& run);

/// One JSON object on one line, in the form of cli.md; a sweep has `rows`.
std::string as_json(const ServerReport& report);
/// Tables with this frame.
std::string as_tables(const ServerReport& report, const Frame& frame);

/// The name of a run in a sweep: "rate 2", "concurrency 4".
std::string load_name(const LoadPoint& load);

}  // namespace ingot
