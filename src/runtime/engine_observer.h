// EngineObserver: is told what an engine's steps and requests were.
#pragma once

#include "runtime/step_log.h"
#include "runtime/step_trace.h"

namespace ingot {

/// Told of each step after its commit, of pieces as they are handed out, and of each request at its
/// end, in the engine's thread: it must not block, and cannot change anything. Times are seconds
/// of the engine's clock since the engine was made.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  virtual void step(const StepRecord& record) = 0;
  /// A token was handed out; so long after the one before it, or 0 for a request's first.
  virtual void token(double gap_seconds) = 0;
  virtual void request(const RequestRecord& record) = 0;
};

}  // namespace ingot
