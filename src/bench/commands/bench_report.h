// The results of `ingot bench`, as text, JSON or Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/statistics.h"
#include "bench/workload.h"
#include "cli/table.h"

namespace ingot {

/// One workload's repetitions.
struct BenchRow {
  Workload workload;
  WorkloadCost cost;
  std::vector<double> seconds;  ///< one per repetition
  std::string digest;           ///< digest of the first repetition
  std::vector<std::string> sequence_digests;
  bool mismatch = false;  ///< a repetition gave different logits
  StepProfile profile;    ///< sum over all repetitions; empty without profiling

  double median_seconds() const { return median(seconds); }
  /// Tokens per second of the whole batch.
  double tokens_per_second(double seconds) const;
};

/// Which profiles of the rows are printed.
enum class ShownProfile { kNone, kOps, kLayers };

/// A whole benchmark.
struct BenchReport {
  MeasuredPeaks peaks;                 ///< for all threads: the medians of
  std::int64_t peak_rounds = 1;        ///< `peak_rounds` measurements
  std::vector<std::string_view> isas;  ///< kernel tables that this machine can run
  Settings settings;
  std::vector<BenchRow> rows;  ///< empty when only peaks were requested
  ShownProfile profile = ShownProfile::kNone;
};

/// One JSON object on one line, in the form of cli.md.
std::string as_json(const BenchReport& report);
/// Aligned columns of text.
std::string as_text(const BenchReport& report);
/// Markdown tables.
std::string as_markdown(const BenchReport& report);

}  // namespace ingot
