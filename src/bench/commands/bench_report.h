// Formats the results of `ingot bench` as text, JSON or Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/statistics.h"
#include "bench/workload.h"
#include "cli/table.h"

namespace ingot {

/// The results of one workload over all repetitions.
struct BenchRow {
  Workload workload;
  WorkloadCost cost;
  std::vector<double> seconds;  ///< time of each repetition, in seconds
  std::string digest;           ///< digest of the first repetition
  std::vector<std::string> sequence_digests;
  bool mismatch = false;      ///< whether runs that should be equal had different logits
  StepProfile profile;        ///< sum over all repetitions; empty without profiling
  std::int64_t drafted = 0;   ///< number of verified drafts of the first repetition
  std::int64_t accepted = 0;  ///< number of accepted drafts of the first repetition

  double median_seconds() const { return median(seconds); }
  /// Returns the whole batch's tokens per second, for a run that takes `seconds` seconds.
  double tokens_per_second(double seconds) const;
};

/// Which profiles to print with the rows: none, by op, or by op and by layer.
enum class ShownProfile { kNone, kOps, kLayers };

/// The results of one benchmark.
struct BenchReport {
  MeasuredPeaks peaks;                 ///< `all_threads` has the medians of `peak_rounds` rounds
  std::int64_t peak_rounds = 1;        ///< number of rounds that measured the peaks
  std::vector<std::string_view> isas;  ///< names of kernel tables that this machine can run
  Settings settings;
  std::vector<BenchRow> rows;  ///< one row per workload; empty with --peaks
  ShownProfile profile = ShownProfile::kNone;
  bool drafts = false;  ///< whether an engine with speculation ran the workloads
};

/// Formats the report as one JSON object on one line.
std::string as_json(const BenchReport& report);
/// Formats the report as aligned columns of text.
std::string as_text(const BenchReport& report);
/// Formats the report as Markdown tables.
std::string as_markdown(const BenchReport& report);

}  // namespace ingot
