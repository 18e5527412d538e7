// The page of a server's benchmark. What it shows came from a server and from files: all text is
// escaped.
#include "bench/commands/bench_server_html.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "bench/commands/svg_plot.h"

namespace ingot {

namespace {

constexpr double kMs = 1e3;
constexpr std::size_t kBarsMax = 1000;
/// Points of a curve that a picture can show.
constexpr std::size_t kCurvePoints = 200;

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>ingot bench serve</title>
<style>
body { font-family: sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; font-size: 0.9em; margin: 1em 0; }
td, th { border: 1px solid #ddd; padding: 0.2em 0.6em; text-align: right; }
td:first-child, th:first-child { text-align: left; }
svg { width: 100%; margin: 0.5em 0; }
</style>
</head>
<body>
)";

std::string cell(const Json& value) {
  if (const double* number = value.as_double()) return to_fixed(*number, 3);
  return value.is_null() ? "-" : html_escaped(printable(value.dump(), 1024));
}

std::string settings_html(const Settings& settings) {
  std::string out = "<table>\n<tr><th>setting</th><th>value</th></tr>\n";
  for (const auto& [name, value] : settings) {
    out += cat("<tr><td>", html_escaped(name), "</td><td>", cell(value), "</td></tr>\n");
  }
  return out + "</table>\n";
}

/// A line for each figure, a column for each run.
std::string figures_html(const ServerReport& report) {
  std::vector<Settings> columns;
  for (const ServerRun& run : report.runs) {
    columns.push_back(server_figures(run, report.has_goodput));
    for (const auto& [name, ms] : server_latencies(run)) {
      columns.back().emplace_back(cat("median_", name, "_ms"), ms.median);
      columns.back().emplace_back(cat("p99_", name, "_ms"), ms.p99);
    }
  }
  std::string out = "<table>\n<tr><th>figure</th>";
  for (const ServerRun& run : report.runs) {
    out += cat("<th>", html_escaped(load_name(run.load)), "</th>");
  }
  out += "</tr>\n";
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    out += cat("<tr><td>", columns.front()[i].first, "</td>");
    for (const Settings& column : columns) out += cat("<td>", cell(column[i].second), "</td>");
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

/// The part of requests whose latency is no more than x.
PlotLine distribution_curve(std::string name, std::vector<double> values) {
  PlotLine curve{.name = std::move(name), .points = {}};
  std::sort(values.begin(), values.end());
  const std::size_t points = std::min(values.size(), kCurvePoints);
  for (std::size_t i = 1; i <= points; ++i) {
    const std::size_t rank = values.size() * i / points;
    curve.points.emplace_back(values[rank - 1],
                              static_cast<double>(rank) / static_cast<double>(values.size()) * 100);
  }
  return curve;
}

/// A latency of a request in milliseconds, by name.
struct Measured {
  std::string name;
  std::function<void(const ServedRequest&, std::vector<double>&)> take;
};

std::vector<Measured> measured() {
  return {{"Time to first token",
           [](const ServedRequest& r, std::vector<double>& out) {
             out.push_back((r.first - r.start) * kMs);
           }},
          {"Time for each further token",
           [](const ServedRequest& r, std::vector<double>& out) {
             if (r.output_tokens < 2) return;
             out.push_back((r.last - r.first) * kMs / static_cast<double>(r.output_tokens - 1));
           }},
          {"Time between pieces",
           [](const ServedRequest& r, std::vector<double>& out) {
             for (const double gap : r.gaps) out.push_back(gap * kMs);
           }},
          {"Time to the last token", [](const ServedRequest& r, std::vector<double>& out) {
             out.push_back((r.last - r.start) * kMs);
           }}};
}

std::string distributions_html(const ServerReport& report) {
  std::string out;
  for (const auto& [name, take] : measured()) {
    LinePlot plot{.title = name, .x_label = "milliseconds", .y_label = "% at most", .lines = {}};
    for (const ServerRun& run : report.runs) {
      std::vector<double> values;
      for (const ServedRequest& r : run.served) {
        if (r.is_completed()) take(r, values);
      }
      plot.lines.push_back(distribution_curve(load_name(run.load), std::move(values)));
    }
    out += svg(plot);
  }
  return out;
}

double load_of(const ServerRun& run, std::size_t number) {
  if (run.load.concurrency > 0) return static_cast<double>(run.load.concurrency);
  const double rate = std::strtod(run.load.rate.c_str(), nullptr);
  return std::isfinite(rate) ? rate : static_cast<double>(number);
}

/// How a figure goes with the load.
PlotLine over_load(const ServerReport& report, std::string name,
                   const std::function<double(const ServerRun&)>& figure) {
  PlotLine result{.name = std::move(name), .points = {}};
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    result.points.emplace_back(load_of(report.runs[i], i), figure(report.runs[i]));
  }
  std::sort(result.points.begin(), result.points.end());
  return result;
}

std::string sweep_html(const ServerReport& report) {
  if (!report.is_sweep) return {};
  using Run = ServerRun;
  const bool is_closed = report.runs.front().load.concurrency > 0;
  const std::string load = is_closed ? "requests at once" : "requests a second asked for";
  const auto plot = [&](std::string title, std::string y_label, std::vector<PlotLine> lines) {
    return svg({.title = std::move(title),
                .x_label = load,
                .y_label = std::move(y_label),
                .lines = std::move(lines),
                .has_dots = true});
  };
  const auto tokens = [](const Run& r) { return r.summary.per_second(r.summary.output_tokens); };
  const auto requests = [](const Run& r) { return r.summary.per_second(r.summary.completed); };
  const auto good = [](const Run& r) { return r.summary.per_second(r.summary.good); };
  std::vector<PlotLine> rates{over_load(report, "completed", requests)};
  if (report.has_goodput) rates.push_back(over_load(report, "good", good));
  return plot("Output tokens a second", "tokens/s", {over_load(report, "output", tokens)}) +
         plot("Requests a second", "1/s", std::move(rates)) +
         plot("Time to first token", "ms",
              {over_load(report, "median", [](const Run& r) { return r.summary.ttft_ms.median; }),
               over_load(report, "p99", [](const Run& r) { return r.summary.ttft_ms.p99; })}) +
         plot("Time for each further token", "ms",
              {over_load(report, "median", [](const Run& r) { return r.summary.tpot_ms.median; }),
               over_load(report, "p99", [](const Run& r) { return r.summary.tpot_ms.p99; })});
}

/// Every request, or so many that are spread over all.
std::string timeline_html(const ServerRun& run) {
  std::vector<TimeBar> bars;
  const std::size_t step = run.served.size() / kBarsMax + 1;
  for (std::size_t i = 0; i < run.served.size(); i += step) {
    const ServedRequest& r = run.served[i];
    bars.push_back(
        {.start = r.start, .first = r.first, .last = r.last, .is_completed = r.is_completed()});
  }
  std::sort(bars.begin(), bars.end(),
            [](const TimeBar& a, const TimeBar& b) { return a.start < b.start; });
  return svg_timeline(cat("Requests over time, ", load_name(run.load)), bars);
}

/// Pieces that came in each of some equal stretches of the run.
std::string pieces_html(const ServerRun& run) {
  constexpr std::size_t kBins = 100;
  const double width = run.summary.duration / kBins;
  if (!(width > 0)) return {};
  std::vector<double> bins(kBins);
  const auto count = [&](double time) {
    bins[std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0, time / width)))] += 1 / width;
  };
  for (const ServedRequest& r : run.served) {
    if (!r.is_completed()) continue;
    double time = r.first;
    count(time);
    for (const double gap : r.gaps) count(time += gap);
  }
  PlotLine pieces{.name = "pieces", .points = {}};
  for (std::size_t i = 0; i < kBins; ++i) {
    pieces.points.emplace_back((static_cast<double>(i) + 0.5) * width, bins[i]);
  }
  return svg({.title = cat("Pieces of text a second, ", load_name(run.load)),
              .x_label = "seconds",
              .y_label = "1/s",
              .lines = {std::move(pieces)}});
}

}  // namespace

std::string as_html(const ServerReport& report) {
  std::string out = cat(kHead, "<h1>ingot bench serve</h1>\n", figures_html(report));
  out += sweep_html(report);
  out += cat("<h2>Latencies</h2>\n", distributions_html(report), "<h2>Over time</h2>\n");
  for (const ServerRun& run : report.runs) out += timeline_html(run) + pieces_html(run);
  return cat(out, "<h2>Settings</h2>\n", settings_html(report.settings), "</body>\n</html>\n");
}

}  // namespace ingot
