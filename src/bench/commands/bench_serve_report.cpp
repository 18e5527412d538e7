// Prints the results of `ingot bench serve-inproc`.
#include "bench/commands/bench_serve_report.h"

#include "base/text.h"
#include "bench/commands/latency_report.h"

namespace ingot {

namespace {

std::int64_t as_int(std::uint64_t count) { return static_cast<std::int64_t>(count); }

/// The figures with their names, except latencies.
Settings figures(const ServeReport& report) {
  const TrafficSummary& s = report.summary;
  const std::int64_t tokens = s.input_tokens + s.output_tokens;
  const Histogram& rows = report.engine.step_rows;
  return {{"duration", s.duration},
          {"completed", s.completed},
          {"errors", s.busy + s.failed},
          {"busy", s.busy},
          {"failed", s.failed},
          {"total_input_tokens", s.input_tokens},
          {"total_output_tokens", s.output_tokens},
          {"request_throughput", s.per_second(s.completed)},
          {"request_goodput", report.has_goodput ? Json(s.per_second(s.good)) : Json()},
          {"output_throughput", s.per_second(s.output_tokens)},
          {"total_token_throughput", s.per_second(tokens)},
          {"cache_hit_rate", s.cache_hit_rate()},
          {"preemptions", as_int(report.engine.preemptions)},
          {"steps", as_int(report.engine.steps)},
          {"mean_step_rows", rows.count() > 0 ? rows.sum() / static_cast<double>(rows.count()) : 0},
          {"drafted", report.engine.drafts.drafts},
          {"accepted", report.engine.drafts.accepted},
          {"max_stall_ms", report.engine.stall_seconds_max * 1e3},
          {"cut_prompts", report.cut.prompts},
          {"cut_outputs", report.cut.outputs},
          {"checked", report.checked},
          {"checked_cached_tokens", report.checked_cached},
          {"mismatches", report.mismatches}};
}

std::vector<NamedLatency> latencies(const TrafficSummary& s) {
  return {{"ttft", s.ttft_ms},
          {"queue", s.queue_ms},
          {"tpot", s.tpot_ms},
          {"itl", s.itl_ms},
          {"e2el", s.e2el_ms}};
}

}  // namespace

std::string as_json(const ServeReport& report) {
  Json j = settings_json(figures(report));
  for (const NamedLatency& latency : latencies(report.summary)) add_latency(latency, j);
  j.set("settings", settings_json(report.settings));
  return j.dump() + "\n";
}

std::string as_tables(const ServeReport& report, const Frame& frame) {
  return cat(settings_text(report.settings), "\n", figure_table(figures(report), frame), "\n",
             latency_table(latencies(report.summary), frame));
}

}  // namespace ingot
