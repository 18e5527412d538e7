// What `ingot bench` found, as text, JSON or Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.h"
#include "bench/workload.h"
#include "cli/table.h"

namespace ingot {

/// One workload's repetitions.
struct BenchRow {
  Workload workload;
  WorkloadCost cost;
  std::vector<double> seconds;  ///< a repetition each
  std::string digest;           ///< of the first repetition
  std::vector<std::string> sequence_digests;
  bool mismatch = false;  ///< some repetition gave other logits
  StepProfile profile;    ///< of all repetitions, where steps were profiled

  double median_seconds() const { return median(seconds); }
  /// Tokens a second of the whole batch.
  double tokens_per_second(double seconds) const;
};

/// What of the rows' profiles is shown.
enum class ShownProfile { kNone, kOps, kLayers };

/// A whole benchmark.
struct BenchReport {
  MeasuredPeaks peaks;                 ///< of all threads the medians of
  std::int64_t peak_rounds = 1;        ///< so many measurements
  std::vector<std::string_view> isas;  ///< kernel tables that this machine can run
  Settings settings;
  std::vector<BenchRow> rows;  ///< none where only peaks were asked for
  ShownProfile profile = ShownProfile::kNone;
};

/// One JSON object on one line, in the form of cli.md.
std::string as_json(const BenchReport& report);
/// Aligned columns for people.
std::string as_text(const BenchReport& report);
/// The same as Markdown tables.
std::string as_markdown(const BenchReport& report);

}  // namespace ingot
