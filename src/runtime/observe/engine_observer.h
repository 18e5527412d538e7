// EngineObserver: callbacks for an engine's steps, tokens, requests and rejections.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/observe/step_log.h"
#include "runtime/observe/step_trace.h"

namespace ingot {

/// Why a request was refused.
enum class Rejection {
  kInvalid,   ///< a field is wrong, or the request does not fit into the KV pool
  kFull,      ///< too many requests are under way
  kDraining,  ///< the engine drains or has stopped
  kFailed,    ///< the engine has failed and computes no more steps
  kDeadline,  ///< the request would miss its deadline
  kMemory,    ///< there is no memory for the request
};

inline constexpr std::size_t kRejections = 6;

/// Returns "invalid", "queue_full", "draining", "failed", "deadline" or "out_of_memory".
std::string_view to_string(Rejection reason);

/// Callbacks that an engine calls after each step's commit, for each delivered token, and once at
/// the end of each request. The engine's thread calls them, so they must not block. If a step takes
/// too long, the engine's thread makes no calls, and the watching thread reports requests that
/// never ran. Times are seconds since the engine was made.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  /// Called after a step's commit.
  virtual void step(const StepRecord& record) = 0;
  /// Called after a tick without a step. Only fields under the heading "After the step" are set.
  virtual void state(const StepRecord& /*record*/) {}
  /// Called after the delivery of a request's first token.
  virtual void first_token(const RequestRecord& /*record so far*/) {}
  /// Called after the delivery of each later token, `gap_seconds` after the previous token.
  virtual void token(double gap_seconds) = 0;
  /// Called when a request has ended.
  virtual void request(const RequestRecord& record) = 0;
  /// Called after the release of a cancelled request's blocks, `seconds` after the cancel.
  virtual void freed(double /*seconds*/) {}
  /// Called when the engine refuses `requests` requests. Several threads may call it at once.
  virtual void rejected(Rejection /*reason*/, std::size_t /*requests*/) {}
};

}  // namespace ingot
