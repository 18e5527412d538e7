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
  /// A request is cancelled if its reader takes nothing from a full queue for this many seconds.
  double stall_seconds = kNever;
  bool prefix_cache = true;  ///< keeps computed blocks until running requests need their memory
  PrefixIndexOptions prefix{};
  double step_seconds = 0;           ///< limit on a step's prompt work: see SchedulerLimits
  std::int32_t preemptions_max = 4;  ///< preemptions before a guarantee: see SchedulerLimits
  std::int32_t pipeline_depth = 1;   ///< see SchedulerLimits; 2 only if the runner supports it
  /// Bytes of a session's keys and values that are copied between two steps, at least one block.
  std::int64_t session_bytes = 16 << 20;
  WaitingOptions waiting{};
  /// Time limit of a step in seconds, after which the engine fails: see `Engine::watch`.
  double step_limit_seconds = kNever;
  Clock now{};  ///< called from any thread; empty = the system's steady clock
  /// Called once if the engine fails, after all requests have ended with the error. If a step took
  /// too long, the watching thread calls it. The engine's thread may then never end, so the process
  /// has to exit without `stop`.
  std::function<void(const Error&)> failed{};
  EngineObserver* observer = nullptr;  ///< must outlive the engine
};

/// A model that an engine runs. All parts must outlive the engine. Only the engine uses `executor`.
struct ModelParts {
  Executor& executor;
  ThreadPool& pool;
  const HostKernels& kernels;
  const Tokenizer* tokenizer = nullptr;  ///< null: deltas have no text
  std::int64_t ids = 0;  ///< size of the tokenizer; only ids below this size are drawn
  std::vector<std::int32_t> end_ids{};  ///< the model's end-of-sequence and end-of-turn tokens
  const ProfiledBackend* profiled = nullptr;  ///< the executor's backend, if it times ops
};

/// The runner of an engine's steps (a model or a simulation), and limits of the engine's requests.
struct EngineSetup {
  std::unique_ptr<StepRunner> steps;
  RequestLimits limits;
  const Tokenizer* tokenizer = nullptr;
  std::vector<std::int32_t> end_ids{};
};

/// Makes the setup of an engine that runs a model. Errors: Error{kDoesNotFit}.
EngineSetup engine_setup(const ModelParts& parts);
/// Returns `options`, with the system's steady clock as `now` if `now` is empty.
EngineOptions with_clock(EngineOptions options);
SchedulerLimits scheduler_limits(const StepRunner& steps, const EngineOptions& options);
/// Limit on the choices that are under way at once, running or waiting.
std::size_t under_way_max(const StepRunner& steps, const EngineOptions& options);

}  // namespace ingot
