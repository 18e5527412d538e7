// Prints the results of `ingot bench serve`.
#include "bench/commands/bench_server_report.h"

#include <limits>

#include "base/text.h"
#include "cli/options/options.h"

namespace ingot {

namespace {

/// The rate as vLLM's benchmark prints it: a number, or "inf" (also with a fixed concurrency).
Json rate_json(const LoadPoint& load) {
  if (load.concurrency > 0 || load.rate == "inf") return "inf";
  return parse_real(load.rate, "--rate", 0, std::numeric_limits<double>::max());
}

Json row_json(const ServerRun& run, bool has_goodput) {
  Json j = settings_json(server_figures(run, has_goodput));
  for (const NamedLatency& latency : server_latencies(run)) add_latency(latency, j);
  return j;
}

std::string sweep_table(const ServerReport& report, const Frame& frame) {
  Cells cells{{"load", "completed", "errors", "requests/s", "tokens/s", "ttft p50", "ttft p99",
               "tpot p50", "tpot p99", "e2el p99", "goodput"}};
  for (const ServerRun& run : report.runs) {
    const TrafficSummary& s = run.summary;
    cells.push_back({load_name(run.load), cat(s.completed), cat(s.busy + s.failed),
                     to_fixed(s.per_second(s.completed), 3),
                     to_fixed(s.per_second(s.output_tokens), 1), to_fixed(s.ttft_ms.p50, 2),
                     to_fixed(s.ttft_ms.p99, 2), to_fixed(s.tpot_ms.p50, 2),
                     to_fixed(s.tpot_ms.p99, 2), to_fixed(s.e2el_ms.p99, 2),
                     report.has_goodput ? to_fixed(s.per_second(s.good), 3) : "-"});
  }
  return table(cells, frame);
}

}  // namespace

std::string load_name(const LoadPoint& load) {
  return load.concurrency > 0 ? cat("concurrency ", load.concurrency) : cat("rate ", load.rate);
}

std::vector<NamedLatency> server_latencies(const ServerRun& run) {
  const TrafficSummary& s = run.summary;
  return {{"ttft", s.ttft_ms},
          {"tpot", s.tpot_ms},
          {"itl", s.itl_ms},
          {"e2el", s.e2el_ms},
          {"rejected", run.rejected_ms}};
}

Settings server_figures(const ServerRun& run, bool has_goodput) {
  const TrafficSummary& s = run.summary;
  Json by_status = Json::object();
  for (const auto& [status, count] : run.errors_by_status) by_status.set(status, count);
  return {{"request_rate", rate_json(run.load)},
          {"max_concurrency", run.load.concurrency > 0 ? Json(run.load.concurrency) : Json()},
          {"duration", s.duration},
          {"completed", s.completed},
          {"errors", s.busy + s.failed},
          {"rejected", s.busy},
          {"failed", s.failed},
          {"errors_by_status", by_status},
          {"total_input_tokens", s.input_tokens},
          {"total_output_tokens", s.output_tokens},
          {"request_throughput", s.per_second(s.completed)},
          {"request_goodput", has_goodput ? Json(s.per_second(s.good)) : Json()},
          {"output_throughput", s.per_second(s.output_tokens)},
          {"total_token_throughput", s.per_second(s.input_tokens + s.output_tokens)},
          {"cache_hit_rate", run.says_cached ? Json(s.cache_hit_rate()) : Json()},
          {"preemptions", run.preemptions ? Json(*run.preemptions) : Json()},
          {"max_send_delay_ms", run.send_delay_ms_max},
          {"reconnects", run.reconnects},
          {"without_usage", run.without_usage},
          {"cut_prompts", run.cut.prompts},
          {"cut_outputs", run.cut.outputs},
          {"checked", run.checked},
          {"mismatches", run.mismatches},
          {"check_failed", run.check_failed}};
}

std::string as_json(const ServerReport& report) {
  Json j = Json::object();
  if (report.is_sweep) {
    Json rows = Json::array();
    for (const ServerRun& run : report.runs) rows.push(row_json(run, report.has_goodput));
    j.set("rows", std::move(rows));
  } else {
    j = row_json(report.runs.front(), report.has_goodput);
  }
  for (const auto& [name, value] : report.identity) j.set(name, value);
  j.set("settings", settings_json(report.settings));
  return j.dump() + "\n";
}

std::string as_tables(const ServerReport& report, const Frame& frame) {
  std::string text = cat(settings_text(report.settings), "\n");
  if (report.is_sweep) return text + sweep_table(report, frame);
  const ServerRun& run = report.runs.front();
  return cat(text, figure_table(server_figures(run, report.has_goodput), frame), "\n",
             latency_table(server_latencies(run), frame));
}

}  // namespace ingot
