// EngineObserver: is told what an engine's steps and requests were.
#pragma once

#include "runtime/step_log.h"
#include "runtime/step_trace.h"

namespace ingot {

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
};

}  // namespace ingot
