// Forms of a serving benchmark's results.
#include "cli/bench_serve_report.h"

#include "base/text.h"

namespace ingot {

namespace {

std::int64_t as_int(std::uint64_t count) { return static_cast<std::int64_t>(count); }

/// The figures but for latencies, by name.
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
          {"max_stall_ms", report.engine.stall_seconds_max * 1e3},
          {"cut_prompts", report.cut.prompts},
          {"cut_outputs", report.cut.outputs},
          {"checked", report.checked},
          {"checked_cached_tokens", report.checked_cached},
          {"mismatches", report.mismatches}};
}

/// A latency by its name.
struct NamedLatency {
  std::string_view name;
  const Distribution& ms;
};

std::vector<NamedLatency> latencies(const TrafficSummary& s) {
  return {{"ttft", s.ttft_ms},
          {"queue", s.queue_ms},
          {"tpot", s.tpot_ms},
          {"itl", s.itl_ms},
          {"e2el", s.e2el_ms}};
}

/// Its members, by the names that are usual for them: "mean_ttft_ms".
void add_latency(const NamedLatency& latency, Json& j) {
  const auto set = [&](std::string_view what, double value) {
    j.set(cat(what, "_", latency.name, "_ms"), value);
  };
  set("mean", latency.ms.mean);
  set("median", latency.ms.median);
  set("std", latency.ms.std);
  set("p50", latency.ms.p50);
  set("p90", latency.ms.p90);
  set("p99", latency.ms.p99);
}

std::string cell(const Json& value) {
  if (const double* number = value.as_double()) return to_fixed(*number, 3);
  return value.is_null() ? "-" : value.dump();
}

}  // namespace

std::string as_json(const ServeReport& report) {
  Json j = settings_json(figures(report));
  for (const NamedLatency& latency : latencies(report.summary)) add_latency(latency, j);
  j.set("settings", settings_json(report.settings));
  return j.dump() + "\n";
}

std::string as_tables(const ServeReport& report, const Frame& frame) {
  Cells totals{{"figure", "value"}};
  for (const auto& [name, value] : figures(report)) totals.push_back({name, cell(value)});
  Cells times{{"ms", "mean", "median", "std", "p90", "p99"}};
  for (const auto& [name, ms] : latencies(report.summary)) {
    std::vector<std::string>& line = times.emplace_back(1, std::string(name));
    for (const double value : {ms.mean, ms.median, ms.std, ms.p90, ms.p99}) {
      line.push_back(to_fixed(value, 2));
    }
  }
  return cat(settings_text(report.settings), "\n", table(totals, frame), "\n", table(times, frame));
}

}  // namespace ingot
