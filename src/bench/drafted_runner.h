// DraftedRunner: times decode workloads in an engine, whose speculation verifies drafts.
#pragma once

#include <cstdint>
#include <functional>

#include "bench/workload.h"
#include "runtime/engine.h"

namespace ingot {

/// Runs decode workloads as greedy requests of an engine that has no other requests. Tokens and
/// digests of sequences are those of WorkloadRunner. The time begins when each sequence has its
/// first token, so that it has no prompts.
class DraftedRunner {
 public:
  /// `vocab`: see workload_token. Calls `on_step` between steps; it may throw to end a run.
  /// `engine` must outlive this object.
  DraftedRunner(Engine& engine, std::int64_t vocab, std::function<void()> on_step)
      : engine_(engine), vocab_(vocab), on_step_(std::move(on_step)) {}

  /// Runs a decode of two tokens or more. No run sees what another run wrote. Errors: the error
  /// that ended a request.
  WorkloadResult run(const Workload& workload);

 private:
  /// A run's requests, and the tokens that they have drawn.
  struct Run {
    std::vector<Stream> streams;
    std::vector<std::int64_t> drawn;  ///< [streams]
    std::int64_t total() const;
    bool has_begun() const;  ///< whether each sequence has a token
  };

  void submit(const Workload& workload, Run& run);
  /// Steps until all requests have ended. Returns the seconds of as many tokens as the workload
  /// has.
  double decode(const Workload& workload, Run& run);

  Engine& engine_;
  std::int64_t vocab_;
  std::function<void()> on_step_;
  std::uint64_t runs_ = 0;
};

}  // namespace ingot
