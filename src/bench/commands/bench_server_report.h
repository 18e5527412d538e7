// What `ingot bench serve` found, as text, JSON or Markdown.
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
  Distribution rejected_ms;  ///< time to the answer of those that were refused
  CutLengths cut;
  /// How requests ended that were not completed: by status, "connection" where none came, "stream"
  /// where one of 200 went wrong.
  std::map<std::string, std::int64_t> errors_by_status;
  double send_delay_ms_max = 0;    ///< from a request's arrival to its being sent
  std::int64_t reconnects = 0;     ///< requests that went out again, on a new connection
  std::int64_t without_usage = 0;  ///< completed ones whose tokens the server did not count
  std::optional<std::int64_t> preemptions;  ///< where the server's metrics say it
  std::int64_t checked = 0;                 ///< requests that were sent again
  std::int64_t mismatches = 0;              ///< of them, those that gave something else
  std::int64_t check_failed = 0;            ///< of them, those that gave nothing to compare
  bool says_cached = false;                 ///< the server counts tokens of its prefix cache
  std::string first_error;
};

/// All runs, of a sweep or a single one.
struct ServerReport {
  std::vector<ServerRun> runs;
  bool is_sweep = false;
  bool has_goodput = false;
  Settings settings;
  Settings identity{};  ///< what vLLM's benchmark says of a run besides its figures
};

/// The figures of a run by name, but for latencies.
Settings server_figures(const ServerRun& run, bool has_goodput);

/// Its latencies by name.
std::vector<NamedLatency> server_latencies(const ServerRun& run);

/// One JSON object on one line, in the form of cli.md; of a sweep its `rows`.
std::string as_json(const ServerReport& report);
/// The same for people, in tables of this form.
std::string as_tables(const ServerReport& report, const Frame& frame);

/// What distinguishes a run in a sweep: "rate 2", "concurrency 4".
std::string load_name(const LoadPoint& load);

}  // namespace ingot
