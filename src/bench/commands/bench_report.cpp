// Prints a benchmark's results as JSON, text and Markdown.
#include "bench/commands/bench_report.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "bench/commands/bench_profile.h"
#include "cli/table.h"

namespace ingot {

namespace {

std::string_view to_string(Workload::Kind kind) {
  if (kind == Workload::Kind::kEmbed) return "embed";
  return kind == Workload::Kind::kPrefill ? "prefill" : "decode";
}

double gb_s(const BenchRow& row) { return row.cost.cost.bytes / row.median_seconds() / 1e9; }
double gop_s(const BenchRow& row) { return row.cost.cost.ops() / row.median_seconds() / 1e9; }
double fraction(const BenchRow& row) { return row.cost.ideal_seconds / row.median_seconds(); }

Json rates_json(const Peaks& peaks) {
  Json j = Json::object();
  j.set("read_gb_s", peaks.read_gb_s);
  j.set("f32_gflop_s", peaks.f32_gflop_s);
  j.set("int8_gop_s", peaks.int8_gop_s);
  const auto if_any = [](double rate) { return rate > 0 ? Json(rate) : Json(); };
  j.set("bf16_gflop_s", if_any(peaks.bf16_gflop_s));
  j.set("int8_tiles_gop_s", if_any(peaks.int8_tiles_gop_s));
  return j;
}

Json workload_json(const Workload& workload) {
  Json j = Json::object();
  j.set("kind", to_string(workload.kind));
  j.set("tokens", workload.tokens);
  j.set("depth", workload.depth);
  j.set("batch", workload.batch);
  return j;
}

Json row_json(const BenchRow& row, bool drafts) {
  const auto [fastest, slowest] = std::minmax_element(row.seconds.begin(), row.seconds.end());
  Json digests = Json::array();
  for (const std::string& digest : row.sequence_digests) digests.push(digest);
  Json j = workload_json(row.workload);
  j.set("tok_s", row.tokens_per_second(row.median_seconds()));
  j.set("tok_s_min", row.tokens_per_second(*slowest));
  j.set("tok_s_max", row.tokens_per_second(*fastest));
  j.set("gb_s", gb_s(row));
  j.set("gop_s", gop_s(row));
  j.set("seconds", row.median_seconds());
  j.set("ideal_seconds", row.cost.ideal_seconds);
  j.set("fraction", fraction(row));
  j.set("digest", row.digest);
  j.set("sequence_digests", std::move(digests));
  j.set("mismatch", row.mismatch);
  if (drafts) {
    j.set("drafted", row.drafted);
    j.set("accepted", row.accepted);
  }
  return j;
}

std::string cell_if_any(double rate) { return rate > 0 ? to_fixed(rate, 1) : "none"; }

Cells peak_cells(const MeasuredPeaks& peaks) {
  const auto line = [](std::string name, const Peaks& p) {
    return std::vector<std::string>{
        std::move(name),           to_fixed(p.read_gb_s, 1),    to_fixed(p.f32_gflop_s, 1),
        to_fixed(p.int8_gop_s, 1), cell_if_any(p.bf16_gflop_s), cell_if_any(p.int8_tiles_gop_s)};
  };
  return {{"peaks", "read GB/s", "f32 GFLOP/s", "int8 GOP/s", "bf16 GFLOP/s", "int8 tiles GOP/s"},
          line("one thread", peaks.one_thread),
          line("all threads", peaks.all_threads)};
}

Cells row_cells(const BenchReport& report) {
  Cells cells{{"kind", "tokens", "depth", "batch", "tok/s", "GB/s", "GOP/s", "fraction", "digest"}};
  if (report.drafts) cells.front().insert(cells.front().end(), {"drafted", "accepted"});
  for (const BenchRow& row : report.rows) {
    const Workload& w = row.workload;
    cells.push_back({std::string(to_string(w.kind)), cat(w.tokens), cat(w.depth), cat(w.batch),
                     to_fixed(row.tokens_per_second(row.median_seconds()), 2),
                     to_fixed(gb_s(row), 2), to_fixed(gop_s(row), 1), to_fixed(fraction(row), 3),
                     row.mismatch ? "mismatch" : row.digest});
    if (!report.drafts) continue;
    cells.back().insert(cells.back().end(), {cat(row.drafted), cat(row.accepted)});
  }
  return cells;
}

std::string framed(const BenchReport& report, const Frame& frame) {
  std::string kernels = "kernels ";
  for (const std::string_view isa : report.isas) {
    kernels += cat(isa == report.isas.front() ? "" : ", ", isa);
  }
  std::string out = cat(kernels, "; ", settings_text(report.settings), "\n",
                        table(peak_cells(report.peaks), frame));
  if (report.rows.empty()) return out;
  out += cat("\n", table(row_cells(report), frame));
  if (report.profile == ShownProfile::kNone) return out;
  for (const BenchRow& row : report.rows) {
    const Workload& w = row.workload;
    const std::string title =
        cat(to_string(w.kind), " ", w.tokens, ", depth ", w.depth, ", batch ", w.batch);
    out += cat("\n", table(op_cells(row.profile, title), frame));
    if (report.profile != ShownProfile::kLayers) continue;
    out += cat("\n", table(layer_cells(row.profile, cat(title, ", us a step")), frame));
  }
  return out;
}

}  // namespace

double BenchRow::tokens_per_second(double run_seconds) const {
  return static_cast<double>(workload.tokens * workload.batch) / run_seconds;
}

std::string as_json(const BenchReport& report) {
  Json peaks = rates_json(report.peaks.all_threads);
  peaks.set("one_thread", rates_json(report.peaks.one_thread));
  peaks.set("threads", report.peaks.threads);
  peaks.set("read_bytes", report.peaks.read_bytes);
  peaks.set("rounds", report.peak_rounds);
  Json isas = Json::array();
  for (const std::string_view isa : report.isas) isas.push(isa);
  Json j = Json::object();
  j.set("peaks", std::move(peaks));
  j.set("isas", std::move(isas));
  j.set("settings", settings_json(report.settings));
  if (!report.rows.empty()) {
    Json rows = Json::array();
    for (const BenchRow& row : report.rows) rows.push(row_json(row, report.drafts));
    j.set("rows", std::move(rows));
  }
  if (report.profile != ShownProfile::kNone) {
    Json& profiles = j.set("profile", Json::array());
    for (const BenchRow& row : report.rows) {
      Json profile = workload_json(row.workload);
      set_profile(profile, row.profile, report.profile == ShownProfile::kLayers);
      profiles.push(std::move(profile));
    }
  }
  return j.dump() + "\n";
}

std::string as_text(const BenchReport& report) { return framed(report, kPlainFrame); }

std::string as_markdown(const BenchReport& report) { return framed(report, kMarkdownFrame); }

}  // namespace ingot
