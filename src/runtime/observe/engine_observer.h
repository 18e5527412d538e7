// EngineObserver: is told what an engine's steps and requests were.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/observe/step_log.h"
#include "runtime/observe/step_trace.h"

namespace ingot {

/// Why a request was not taken in.
enum class Rejection {
  kInvalid,   ///< it is wrong, or larger than the KV pool
  kFull,      ///< as many wait as may
  kDraining,  ///< the engine was told to stop
  kFailed,    ///< the engine cannot compute any more
  kDeadline,  ///< it could not be in time
  kMemory,    ///< there was no memory for it
};

inline constexpr std::size_t kRejections = 6;

/// "invalid", "queue_full", "draining", "failed", "deadline" or "out_of_memory".
std::string_view to_string(Rejection reason);

/// Told of each step after its commit, of tokens as they are handed out, and of each request once,
/// at its end, in the engine's thread: it must not block, and cannot change anything. Only of
/// requests that had not begun when a step was given up (`Engine::watch`) it is told by whoever
/// watches, while that thread waits. Times are seconds of the engine's clock since the engine was
/// made.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void step(const StepRecord& record) = 0;
  /// What holds after a turn without a step; the record has nothing of a step.
  virtual void state(const StepRecord& /*record*/) {}
  /// A request's first token was handed out.
  virtual void first_token(const RequestRecord& /*record so far*/) {}
  /// A further token was handed out, so long after the one before it.
  virtual void token(double gap_seconds) = 0;
  virtual void request(const RequestRecord& record) = 0;
  /// A request that its reader cancelled has given its blocks back, so long after that.
  virtual void freed(double /*seconds*/) {}
  /// So many requests were not taken in; from any thread, several at once.
  virtual void rejected(Rejection /*reason*/, std::size_t /*requests*/) {}
};

}  // namespace ingot
