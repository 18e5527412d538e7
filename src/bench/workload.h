// Workloads of a benchmark: prompts computed and tokens generated, timed, with digests of their
// logits.
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

/// One line of a benchmark: `batch` sequences that have `depth` tokens compute `tokens` more each.
struct Workload {
  enum class Kind {
    kPrefill,  ///< known tokens, with logits for the last
    kDecode,   ///< a token a step, the most likely one of the step before
  };
  Kind kind = Kind::kDecode;
  std::int64_t tokens = 0;
  std::int64_t depth = 0;
  std::int32_t batch = 1;

  std::int64_t length() const { return depth + tokens; }
};

/// What an executor has to be planned for, so that it runs some workloads.
struct WorkloadLimits {
  std::int32_t rows = 0;
  std::int32_t sequences = 0;  ///< the largest batch
  std::int64_t longest = 0;    ///< tokens of the longest sequence
  std::int64_t context = 0;    ///< of which the KV pool holds `sequences`; at least `longest`
};

/// The limits of `workloads`; with `shared_prefix`, all sequences of a batch have one prefix.
WorkloadLimits workload_limits(std::span<const Workload> workloads, bool shared_prefix);

/// What a workload costs at the least, and the time that takes.
struct WorkloadCost {
  StepCost cost;
  double ideal_seconds = 0;
};

/// The cost of a workload: a prefill is one step over all its rows however it is cut, a decode is a
/// step a token.
WorkloadCost workload_cost(const Model& model, const KvCache& cache, const Peaks& peaks,
                           const Workload& workload);

/// One run of a workload.
struct WorkloadResult {
  double seconds = 0;  ///< in steps of the executor; prefixes and digests are not in it
  std::string digest;  ///< of all rows of logits, by step, then by sequence
  std::vector<std::string> sequence_digests{};  ///< of each sequence's rows alone
  bool mismatch = false;  ///< a sequence's logits differ from those of an earlier run
  StepProfile profile{};  ///< of the steps in `seconds`, where they are profiled
};

/// Runs workloads on an executor that was planned for them and serves nobody else.
///
/// Token ids are pseudo-random, a function of sequence and position alone. So sequence 3 of a batch
/// of 4 and of a batch of 8 has the same logits, and every run is compared with all earlier ones.
/// Prefixes are computed once and their KV blocks shared by the runs; models with sliding windows
/// forget them, and compute them before each run.
class WorkloadRunner {
 public:
  /// `on_step` is called between steps and may throw to end the run. `profiled` is what the
  /// executor's steps run on where they are to be profiled; each run clears it before the steps
  /// that it times.
  WorkloadRunner(Executor& executor, bool shared_prefix, std::function<void()> on_step,
                 ProfiledBackend* profiled = nullptr);

  /// Has the system find the memory of all keys and values, then computes the prefixes of
  /// `workloads`.
  void prepare(std::span<const Workload> workloads);
  /// Errors: Error{kNotFinite} when a row of logits holds NaN.
  WorkloadResult run(const Workload& workload);

 private:
  /// Sequences under way, with a digest each.
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
  std::vector<float> logits_;       ///< [sequences, V]
  std::vector<std::int32_t> best_;  ///< [sequences]
  std::vector<Sequence> prefixes_;  ///< of sequence 0, 1, ...
  std::vector<StepPart> parts_;
  /// By kind, tokens, depth and sequence.
  std::map<std::tuple<Workload::Kind, std::int64_t, std::int64_t, std::int64_t>, std::uint64_t>
      digests_;
};

}  // namespace ingot
