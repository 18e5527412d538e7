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

/// "invalid", "queue_full", "draining", "failed", "deadline" or "out_of_memory".
std::string_view to_string(Rejection reason);

/// Callbacks that an engine calls after each step's commit, for each delivered token, and once at
/// the end of each request. The engine's thread calls them, so they must not block. If a step takes
/// too long, the watching thread reports the requests that never ran, while the engine's thread
/// makes no calls. Times are seconds since the engine was made.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  /// A step was committed.
  virtual void step(const StepRecord& record) = 0;
  /// A tick ended without a step. Only the fields after the heading "After the step" are set.
  virtual void state(const StepRecord& /*record*/) {}
  /// A request's first token was delivered.
  virtual void first_token(const RequestRecord& /*record so far*/) {}
  /// A token that is not a request's first was delivered, `gap_seconds` after the previous token.
  virtual void token(double gap_seconds) = 0;
  /// A request ended.
  virtual void request(const RequestRecord& record) = 0;
  /// The blocks of a cancelled request were released, `seconds` after the cancel.
  virtual void freed(double /*seconds*/) {}
  /// `requests` requests were refused. Several threads may call this at once.
  virtual void rejected(Rejection /*reason*/, std::size_t /*requests*/) {}
};

}  // namespace ingot
