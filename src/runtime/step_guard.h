// StepGuard: retries a step that fails, times steps, and gives up a step that takes too long.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/function_ref.h"
#include "runtime/schedule/clock.h"

namespace ingot {

/// How long something has been under way. One thread begins and ends it, any thread reads. No lock.
class RunningTime {
 public:
  /// Does nothing where it has begun already.
  void begin(double now) {
    if (begun_.load(std::memory_order_relaxed) == kNever) begun_.store(now);
  }
  void end() { begun_.store(kNever); }
  bool is_under_way() const { return begun_.load() < kNever; }
  /// Seconds since `begin`; 0 when it is not under way.
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
  /// Called once, by the thread that found the failure. While another thread than the caller's runs
  /// it, the caller's stays inside its call.
  using OnFailure = FunctionRef<void(const Error&)>;

  /// `now` outlives this. `limit_seconds`: how long one call may take; kNever = no limit.
  StepGuard(const Clock& now, double limit_seconds) : now_(now), limit_seconds_(limit_seconds) {}

  /// Calls `body`, and once more if it throws. Two `Error`s are a failure. Returns whether `body`
  /// succeeded and nothing has failed.
  ///
  /// Errors: std::bad_alloc when the second call throws it, which is not a failure.
  [[nodiscard]] bool attempt(FunctionRef<void(bool is_retry)> body, OnFailure on_failure);
  /// Calls `body` once; it must not throw.
  void call(FunctionRef<void()> body);
  /// The calls of a step are over.
  void end_step() { step_.end(); }

  /// Fails if a call has taken longer than the limit, although it may never return. Returns whether
  /// there was a failure, now or before. From any thread but the one that calls.
  bool watch(OnFailure on_failure);

  bool has_failed() const { return has_failed_.load(); }
  /// Errors: Error{kInternal} with the reason, after a failure.
  void require_alive() const;
  /// Whether a step is under way, and its seconds since the first call; 0 between steps.
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
  std::atomic<double> call_begun_{kNoCall};  ///< kSeized: a watching thread gave this call up
  std::mutex seized_;                        ///< held by that thread while it handles the failure
};

}  // namespace ingot
