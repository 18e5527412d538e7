// EngineObserver: the interface that hears of an engine's steps, tokens and requests.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/observe/step_log.h"
#include "runtime/observe/step_trace.h"

namespace ingot {

/// Why a request was refused.
enum class Rejection {
  kInvalid,   ///< a field is wrong, or the request is larger than the KV pool
  kFull,      ///< too many requests are under way
  kDraining,  ///< the engine drains or has stopped
  kFailed,    ///< the engine can compute no step any more
  kDeadline,  ///< it would surely end too late
  kMemory,    ///< there is no memory for it
};

inline constexpr std::size_t kRejections = 6;

/// "invalid", "queue_full", "draining", "failed", "deadline" or "out_of_memory".
std::string_view to_string(Rejection reason);

/// Hears of each step after its commit, of each token as it is delivered, and of each request once,
/// at its end. Runs in the engine's thread, so it must not block. When the engine gives up a step,
/// the watching thread reports the requests that had not begun, while the engine's thread waits.
/// Times are seconds since the engine was made.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  /// A step was committed.
  virtual void step(const StepRecord& record) = 0;
  /// The state after a tick without a step. Only the record's state fields are set.
  virtual void state(const StepRecord& /*record*/) {}
  /// A request's first token was delivered.
  virtual void first_token(const RequestRecord& /*record so far*/) {}
  /// A later token was delivered, `gap_seconds` after the one before it.
  virtual void token(double gap_seconds) = 0;
  /// A request ended.
  virtual void request(const RequestRecord& record) = 0;
  /// A cancelled request's blocks are free, `seconds` after the cancel.
  virtual void freed(double /*seconds*/) {}
  /// `requests` requests were refused. From any thread, several at once.
  virtual void rejected(Rejection /*reason*/, std::size_t /*requests*/) {}
};

}  // namespace ingot
