// EngineSetup and EngineOptions: what an engine runs on, and how requests share it.
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

/// How many requests wait, and how requests share the machine.
struct EngineOptions {
  /// Requests that may wait beside the running ones: for admission, for blocks, or for readers.
  std::size_t waiting_max = 1024;
  std::size_t deltas_max = 256;  ///< deltas that a reader may be behind
  /// Seconds after which a request is cancelled whose reader takes nothing from a full queue.
  double stall_seconds = kNever;
  bool prefix_cache = true;  ///< keeps computed blocks while no running request needs their room
  PrefixIndexOptions prefix{};
  double step_seconds = 0;           ///< see SchedulerLimits
  std::int32_t preemptions_max = 4;  ///< see SchedulerLimits
  std::int32_t pipeline_depth = 1;   ///< see SchedulerLimits; the runner has to support more than 1
  /// Bytes of a session's keys and values that are copied between two steps; at least one block.
  std::int64_t session_bytes = 16 << 20;
  WaitingOptions waiting{};
  /// Seconds after which a step that does not return makes the engine fail; see `Engine::watch`.
  double step_limit_seconds = kNever;
  Clock now{};  ///< read from any thread; empty = the system's steady clock
  /// Called once when the engine fails, after all requests ended with the error. If a step takes
  /// too long, the watching thread calls it, and the engine's thread may never end: the process
  /// then has to end without `stop`.
  std::function<void(const Error&)> failed{};
  EngineObserver* observer = nullptr;  ///< outlives the engine
};

/// A model that an engine runs. All of it outlives the engine, which is the executor's only user.
struct ModelParts {
  Executor& executor;
  ThreadPool& pool;
  const KernelTable& kernels;
  const Tokenizer* tokenizer = nullptr;  ///< null: no text
  std::int64_t ids = 0;                  ///< the tokenizer's vocabulary; only these ids are drawn
  std::vector<std::int32_t> end_ids{};   ///< the model's end-of-sequence and end-of-turn tokens
  const ProfiledBackend* profiled = nullptr;  ///< the executor's backend, if it times ops
};

/// What computes an engine's steps, a model or a simulation, and what its requests have to fit.
struct EngineSetup {
  std::unique_ptr<StepRunner> steps;
  RequestLimits limits;
  const Tokenizer* tokenizer = nullptr;
  std::vector<std::int32_t> end_ids{};
};

/// Errors: Error{kDoesNotFit}.
EngineSetup engine_setup(const ModelParts& parts);
/// The given options; the clock is never empty.
EngineOptions with_clock(EngineOptions options);
SchedulerLimits scheduler_limits(const StepRunner& steps, const EngineOptions& options);
/// Choices that may be under way at once, running and waiting.
std::size_t under_way_max(const StepRunner& steps, const EngineOptions& options);

}  // namespace ingot
