// WorkloadRunner: times prefills and decodes of a benchmark, with digests of their logits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backend/profiled_backend.h"
#include "bench/peaks.h"
#include "runtime/executor.h"

namespace ingot {

/// One line of a benchmark: `batch` sequences with `depth` tokens each compute `tokens` more.
struct Workload {
  enum class Kind {
    kPrefill,  ///< known tokens, with logits for the last
    kDecode,   ///< one token per step: the most likely one of the previous step
  };
  Kind kind = Kind::kDecode;
  std::int64_t tokens = 0;
  std::int64_t depth = 0;
  std::int32_t batch = 1;

  std::int64_t length() const { return depth + tokens; }
};

/// The limits that an executor must be planned for to run some workloads.
struct WorkloadLimits {
  std::int32_t rows = 0;
  std::int32_t sequences = 0;  ///< the largest batch
  std::int64_t longest = 0;    ///< tokens of the longest sequence
  std::int64_t context =
      0;  ///< tokens per sequence in the KV pool, which holds `sequences`; at least `longest`
};

/// The limits of `workloads`; with `shared_prefix` all sequences of a batch share one prefix.
WorkloadLimits workload_limits(std::span<const Workload> workloads, bool shared_prefix);

/// The least cost of a workload, and the shortest time for it.
struct WorkloadCost {
  StepCost cost;
  double ideal_seconds = 0;
};

/// The cost of a workload. A prefill counts as one step over all rows, also when it is cut; a
/// decode is one step per token.
WorkloadCost workload_cost(const Model& model, const KvCache& cache, const Peaks& peaks,
                           const Workload& workload);

/// One run of a workload.
struct WorkloadResult {
  double seconds = 0;  ///< time in steps of the executor, without prefixes and digests
  std::string digest;  ///< digest of all rows of logits, by step, then by sequence
  std::vector<std::string> sequence_digests{};  ///< digest of each sequence's rows
  bool mismatch = false;  ///< a sequence's logits differ from those of an earlier run
  StepProfile profile{};  ///< profile of the steps in `seconds`; empty without profiling
};

/// Runs workloads on an executor that was planned for them and has no other user.
///
/// Token ids are pseudo-random and depend only on sequence and position. So sequence 3 of a batch
/// of 4 and of a batch of 8 has equal logits, and every run is compared with all earlier ones.
/// Prefixes are computed once, and the runs share their KV blocks; models with sliding windows drop
/// these blocks and compute prefixes before each run.
class WorkloadRunner {
 public:
  /// `on_step` is called between steps and may throw to end the run. `profiled` is the executor's
  /// backend when steps are profiled; each run clears it before its timed steps.
  WorkloadRunner(Executor& executor, bool shared_prefix, std::function<void()> on_step,
                 ProfiledBackend* profiled = nullptr);

  /// Touches the memory of all keys and values, then computes the prefixes of `workloads`.
  void prepare(std::span<const Workload> workloads);
  /// Errors: Error{kNotFinite} when a row of logits holds NaN.
  WorkloadResult run(const Workload& workload);

 private:
  /// The running sequences with their digests.
  struct Run;

  std::int32_t token(std::int64_t sequence, std::int64_t position, std::int64_t depth) const;
  Sequence begin(const Workload& workload, std::int64_t sequence) const;
  std::int64_t fill_step(Run& run, std::size_t& next, bool outputs);
  void close_gaps(Run& run, bool outputs);
  void extend(Run& run, const Workload& workload, std::int64_t step) const;
  bool differs(const Workload& workload, std::int64_t sequence, std::uint64_t digest);

  Executor& executor_;
  const bool shared_prefix_;
  const bool windowed_;
  std::function<void()> on_step_;
  ProfiledBackend* profiled_;
  std::vector<std::int32_t> best_;  ///< [sequences]
  std::vector<Sequence> prefixes_;  ///< prefixes of sequences 0, 1, ...
  std::vector<StepPart> parts_;
  /// Key: kind, tokens, depth and sequence.
  std::map<std::tuple<Workload::Kind, std::int64_t, std::int64_t, std::int64_t>, std::uint64_t>
      digests_;
};

}  // namespace ingot
