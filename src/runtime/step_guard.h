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
  /// Returns the seconds since `begin`; 0 if the stopwatch does not run.
  double seconds(double now) const {
    const double begun = begun_.load();
    return begun == kNever ? 0 : std::max(0.0, now - begun);
  }

 private:
  std::atomic<double> begun_{kNever};
  static_assert(std::atomic<double>::is_always_lock_free);
};

/// Retries and times the calls of one thread to a StepRunner. After a failure, all calls fail.
class StepGuard {
 public:
  /// The thread that finds a failure calls this function once. If `watch` finds the failure, the
  /// guarded call waits until this function has returned.
  using OnFailure = FunctionRef<void(const Error&)>;

  /// `now` must outlive this object. `limit_seconds`: time limit of one call; kNever = no limit.
  StepGuard(const Clock& now, double limit_seconds) : now_(now), limit_seconds_(limit_seconds) {}

  /// Calls `body`, and calls it once more if it throws. If the second call throws `Error`, the
  /// guard fails for good. Returns false if the guard has failed, in `attempt` or in `watch`.
  ///
  /// Errors: std::bad_alloc if the second call throws it. The guard does not fail then.
  [[nodiscard]] bool attempt(FunctionRef<void(bool is_retry)> body, OnFailure on_failure);
  /// Calls `body` once under the time limit. `body` must not throw.
  void call(FunctionRef<void()> body);
  /// Stops the stopwatch of the current step. Call it after the step's last guarded call.
  void end_step() { step_.end(); }

  /// Makes the guard fail if the current call exceeds the time limit, even if it never returns.
  /// Returns whether the guard has failed. Not for the thread that makes the guarded calls.
  bool watch(OnFailure on_failure);

  bool has_failed() const { return has_failed_.load(); }
  /// Checks that the guard has not failed. Errors: Error{kInternal} with the reason.
  void require_alive() const;
  /// Returns whether a step runs. `step_seconds`: seconds since the step's first call, else 0.
  bool is_in_step() const { return step_.is_under_way(); }
  double step_seconds(double now) const { return step_.seconds(now); }

 private:
  class Call;

  void fail(const Error& error, OnFailure on_failure);

  const Clock& now_;
  double limit_seconds_;
  RunningTime step_;
  std::optional<Error> failure_;  ///< why the guard failed; written before `has_failed_` is set
  std::atomic<bool> has_failed_{false};

  static constexpr double kNoCall = kNever, kSeized = -kNever;
  std::atomic<double> call_begun_{kNoCall};  ///< start of the current call; kSeized: call timed out
  std::mutex seized_;  ///< locked by the watching thread while that thread handles a failure
};

}  // namespace ingot
