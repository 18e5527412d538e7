// WorkloadRunner: times the workloads of `ingot bench` and computes digests of their results.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backend/profiled_backend.h"
#include "bench/peaks.h"
#include "runtime/executor.h"

namespace ingot {

/// A workload: each of `batch` sequences has `depth` tokens and computes `tokens` more tokens.
struct Workload {
  enum class Kind {
    kPrefill,  ///< computes all tokens in one pass, with logits for the last token
    kDecode,   ///< computes one token per step: the one with the previous step's highest logit
    kEmbed,    ///< computes each sequence in one step, with its pooled result; depth is 0
  };
  Kind kind = Kind::kDecode;
  std::int64_t tokens = 0;
  std::int64_t depth = 0;
  std::int32_t batch = 1;

  std::int64_t length() const { return depth + tokens; }
};

/// The sizes with which a caller plans an executor, so that it can run given workloads.
struct WorkloadLimits {
  std::int32_t rows = 0;       ///< number of rows of the largest step
  std::int32_t sequences = 0;  ///< number of sequences of the largest batch
  std::int64_t longest = 0;    ///< number of tokens of the longest sequence
  std::int64_t context = 0;    ///< size of the KV pool per sequence, in tokens; >= `longest`
};

/// Returns the limits of `workloads`. With `shared_prefix`, a batch's sequences share a prefix.
WorkloadLimits workload_limits(std::span<const Workload> workloads, bool shared_prefix);

/// Lower bounds of a workload's cost and time.
struct WorkloadCost {
  StepCost cost;
  double ideal_seconds = 0;
};

/// Lists of adapters that the sequences of a workload have in turn; empty: no adapters.
using AdapterTurns = std::vector<std::shared_ptr<const AdapterList>>;

/// Returns the list of sequence `i` of `sequences`; null: none. Neighbours have the same list, as
/// an engine orders its sequences.
std::shared_ptr<const AdapterList> adapter_turn(const AdapterTurns& lists, std::int64_t i,
                                                std::int64_t sequences);

/// Computes the cost of a workload. A prefill or an embedding counts as one step over all rows,
/// even if it runs in several. A decode counts as one step per token.
WorkloadCost workload_cost(const Model& model, const KvCache& cache, const Peaks& peaks,
                           const Workload& workload, const AdapterTurns& adapters = {});

/// The result of one run of a workload.
struct WorkloadResult {
  double seconds = 0;  ///< seconds that the measured steps took, without prefixes and digests
  std::string digest;  ///< digest of all rows of results, ordered by step, then by sequence
  std::vector<std::string> sequence_digests{};  ///< digest of each sequence's results
  bool mismatch = false;      ///< true if a sequence's results differ from those of an earlier run
  StepProfile profile{};      ///< profile of the timed steps; empty without profiling
  std::int64_t drafted = 0;   ///< number of drafts that steps verified
  std::int64_t accepted = 0;  ///< number of drafts that became tokens
};

/// Returns the token at a position of a sequence: a pseudo-random number below `vocab`.
std::int32_t workload_token(std::int64_t sequence, std::int64_t position, std::int64_t vocab);

/// Runs workloads on an executor that was planned for them and has no other user.
///
/// Token ids are pseudo-random and depend only on sequence and position. Therefore sequence 3 has
/// equal results in a batch of 4 and in a batch of 8; the runner compares each run with earlier
/// runs. Results are logits, or pooled results of embeddings. `prepare` computes the prefixes once,
/// and all runs use the prefixes' blocks. With sliding windows sequences drop blocks, so each run
/// first computes the prefixes itself.
class WorkloadRunner {
 public:
  /// Calls `on_step` between steps; `on_step` may throw to end a run. `profiled` is the executor's
  /// backend, or null for no profile. Each run clears the backend's profile before its timed steps.
  WorkloadRunner(Executor& executor, bool shared_prefix, std::function<void()> on_step,
                 ProfiledBackend* profiled = nullptr);

  /// Lets sequences have these lists in turn: see adapter_turn. Call it before `prepare`.
  void set_adapters(AdapterTurns lists) { adapters_ = std::move(lists); }

  /// Touches the memory of all keys and values, then computes the prefixes of `workloads`.
  void prepare(std::span<const Workload> workloads);
  /// Runs one workload. Errors: Error{kNotFinite} if a result holds NaN.
  WorkloadResult run(const Workload& workload);

 private:
  /// The sequences of one run, the digests of their logits, and the total time of the run's steps.
  struct Run;

  std::int32_t token(std::int64_t sequence, std::int64_t position, std::int64_t depth) const;
  Sequence begin(const Workload& workload, std::int64_t sequence) const;
  std::int64_t fill_step(Run& run, std::size_t& next, bool outputs);
  void close_gaps(Run& run, bool outputs);
  void extend(Run& run, const Workload& workload, std::int64_t step) const;
  void add_results(Run& run, std::size_t first, std::int64_t count);
  void add_pooled(Run& run, std::size_t first);
  bool differs(const Workload& workload, std::int64_t sequence, std::uint64_t digest);

  Executor& executor_;
  const bool shared_prefix_;
  const bool windowed_;
  std::function<void()> on_step_;
  ProfiledBackend* profiled_;
  AdapterTurns adapters_;
  std::vector<std::int32_t> best_;  ///< [sequences], most likely next token of each sequence
  std::vector<Sequence> prefixes_;  ///< prefixes of sequences 0, 1, ...; empty with sliding windows
  std::vector<StepPart> parts_;
  /// Digests of logits in earlier runs. The key is kind, `tokens`, `depth` and sequence number.
  std::map<std::tuple<Workload::Kind, std::int64_t, std::int64_t, std::int64_t>, std::uint64_t>
      digests_;
};

}  // namespace ingot
