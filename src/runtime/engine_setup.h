// EngineOptions, ModelParts and EngineSetup: an engine's options, and the model that it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "kv/prefix_index.h"
#include "runtime/draft/speculation_options.h"
#include "runtime/executor.h"
#include "runtime/observe/engine_observer.h"
#include "runtime/request.h"
#include "runtime/schedule/clock.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/step_runner.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Options of an engine: queue lengths, time limits, prefix cache and scheduling.
struct EngineOptions {
  /// Limit on the choices that wait for admission, for blocks or for their readers.
  std::size_t waiting_max = 1024;
  std::size_t deltas_max = 256;  ///< capacity of a reader's queue; a full queue pauses the request
  /// Seconds after which the engine cancels a request whose reader takes nothing from a full queue.
  double stall_seconds = kNever;
  bool prefix_cache = true;  ///< whether to cache computed blocks until requests need the memory
  PrefixIndexOptions prefix{};
  double step_seconds = 0;           ///< limit on a step with prompt rows: see SchedulerLimits
  std::int32_t preemptions_max = 4;  ///< preemptions before a guarantee: see GuaranteedBlocks
  /// Bytes of a session's keys and values to copy between two steps; at least one block is copied.
  std::int64_t session_bytes = 16 << 20;
  WaitingOptions waiting{};
  SpeculationOptions speculation{};  ///< see Speculation
  /// Time limit of a step in seconds, after which the engine fails: see `Engine::watch`.
  double step_limit_seconds = kNever;
  Clock now{};  ///< the engine's clock, called from any thread; empty = the system's steady clock
  /// Called once if the engine fails, after all requests have ended with the error. If a step took
  /// too long, the watching thread calls it. The engine's thread may then never end, so the process
  /// has to exit without a call of `stop`.
  std::function<void(const Error&)> failed{};
  EngineObserver* observer = nullptr;  ///< gets the events; may be null; must outlive the engine
};

/// A model for an engine. All parts must outlive the engine. Only the engine may use `executor`.
struct ModelParts {
  Executor& executor;
  ThreadPool& pool;
  const HostKernels& kernels;
  const Tokenizer* tokenizer = nullptr;  ///< makes the text of deltas; null: deltas have no text
  std::int64_t ids = 0;  ///< size of the tokenizer; the engine draws only ids below this size
  std::vector<std::int32_t> end_ids{};  ///< the model's end-of-sequence and end-of-turn tokens
  const ProfiledBackend* profiled = nullptr;  ///< the executor's backend if it times ops, else null
};

/// What an engine needs: a runner of steps (model or simulation), request limits and a tokenizer.
struct EngineSetup {
  std::unique_ptr<StepRunner> steps;
  RequestLimits limits;
  const Tokenizer* tokenizer = nullptr;
  std::vector<std::int32_t> end_ids{};
};

/// Makes the setup for an engine that runs this model. Errors: Error{kDoesNotFit}.
EngineSetup engine_setup(const ModelParts& parts, const EngineOptions& options);
/// Returns a copy of `options`. If `now` is empty, sets it to the system's steady clock.
EngineOptions with_clock(EngineOptions options);
SchedulerLimits scheduler_limits(const StepRunner& steps, const EngineOptions& options);
/// Returns the limit on the choices that are under way at once, running or waiting.
std::size_t under_way_max(const StepRunner& steps, const EngineOptions& options);

}  // namespace ingot
