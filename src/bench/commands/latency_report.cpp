// Prints latencies and figures as JSON and as tables.
#include "bench/commands/latency_report.h"

#include "base/text.h"

namespace ingot {

namespace {

std::string cell(const Json& value) {
  if (const double* number = value.as_double()) return to_fixed(*number, 3);
  return value.is_null() ? "-" : value.dump();
}

}  // namespace

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

std::string latency_table(std::span<const NamedLatency> latencies, const Frame& frame) {
  Cells times{{"ms", "mean", "median", "std", "p90", "p99"}};
  for (const auto& [name, ms] : latencies) {
    std::vector<std::string>& line = times.emplace_back(1, std::string(name));
    for (const double value : {ms.mean, ms.median, ms.std, ms.p90, ms.p99}) {
      line.push_back(to_fixed(value, 2));
    }
  }
  return table(times, frame);
}

std::string figure_table(const Settings& figures, const Frame& frame) {
  Cells totals{{"figure", "value"}};
  for (const auto& [name, value] : figures) totals.push_back({name, cell(value)});
  return table(totals, frame);
}

}  // namespace ingot
