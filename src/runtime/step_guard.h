// StepGuard: retries a step that fails, times steps, and fails if a step takes too long.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/function_ref.h"
#include "runtime/schedule/clock.h"

namespace ingot {

/// A stopwatch. One thread starts and stops it, and any thread may read it without a lock.
class RunningTime {
 public:
  /// Starts the stopwatch. Does nothing if it runs already.
  void begin(double now) {
    if (begun_.load(std::memory_order_relaxed) == kNever) begun_.store(now);
  }
  void end() { begun_.store(kNever); }
  bool is_under_way() const { return begun_.load() < kNever; }
  /// Seconds since `begin`; 0 if the stopwatch does not run.
  double seconds(double now) const {
    const double begun = begun_.load();
    return begun == kNever ? 0 : std::max(0.0, now - begun);
  }

 private:
  std::atomic<double> begun_{kNever};
  static_assert(std::atomic<double>::is_always_lock_free);
};

/// Guards the calls that one thread makes to a StepRunner. After a failure no call succeeds.
class StepGuard {
 public:
  /// Called once, by the thread that found the failure. If `watch` found it, the guarded call
  /// does not return before this function does.
  using OnFailure = FunctionRef<void(const Error&)>;

  /// `now` must outlive this object. `limit_seconds`: time limit of one call; kNever = no limit.
  StepGuard(const Clock& now, double limit_seconds) : now_(now), limit_seconds_(limit_seconds) {}

  /// Calls `body`, and calls it again if it throws. If the second call throws `Error`, the guard
  /// fails for good. Returns false if the guard has failed, or if `watch` found a timeout.
  ///
  /// Errors: std::bad_alloc from the second call; the guard has not failed then.
  [[nodiscard]] bool attempt(FunctionRef<void(bool is_retry)> body, OnFailure on_failure);
  /// Calls `body` once under the time limit. `body` must not throw.
  void call(FunctionRef<void()> body);
  /// Ends the time of a step after its last call.
  void end_step() { step_.end(); }

  /// Checks the time limit. If a call takes longer, the guard has failed; the call may never
  /// return. Returns whether the guard has failed. Not for the thread that makes the guarded calls.
  bool watch(OnFailure on_failure);

  bool has_failed() const { return has_failed_.load(); }
  /// Errors: Error{kInternal} with the reason, if a failure has occurred.
  void require_alive() const;
  /// Whether a step is under way, and for how many seconds since its first call; 0 between steps.
  bool is_in_step() const { return step_.is_under_way(); }
  double step_seconds(double now) const { return step_.seconds(now); }

 private:
  class Call;

  void fail(const Error& error, OnFailure on_failure);

  const Clock& now_;
  double limit_seconds_;
  RunningTime step_;
  std::optional<Error> failure_;  ///< written before `has_failed_` is set
  std::atomic<bool> has_failed_{false};

  static constexpr double kNoCall = kNever, kSeized = -kNever;
  std::atomic<double> call_begun_{kNoCall};  ///< when the call began; kSeized: the call timed out
  std::mutex seized_;  ///< held by the watching thread while it handles the failure
};

}  // namespace ingot
