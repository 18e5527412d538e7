// StepGuard: retries failed calls, and lets the watching thread give up a call that takes too long.
#include "runtime/step_guard.h"

#include <new>

#include "base/text.h"

namespace ingot {

/// Times one call. The destructor waits while the watching thread handles this call's failure.
class StepGuard::Call {
 public:
  explicit Call(StepGuard& guard) : guard_(guard) {
    const double now = guard.now_();
    guard.step_.begin(now);
    guard.call_begun_.store(now);
  }
  ~Call() {
    if (guard_.call_begun_.exchange(kNoCall) != kSeized) return;
    const std::lock_guard wait(guard_.seized_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  StepGuard& guard_;
};

bool StepGuard::attempt(FunctionRef<void(bool is_retry)> body, OnFailure on_failure) {
  for (const bool is_retry : {false, true}) {
    try {
      const Call call(*this);
      body(is_retry);
      break;
    } catch (const Error& error) {
      if (is_retry && !has_failed()) fail(error, on_failure);
    } catch (const std::bad_alloc&) {
      if (is_retry && !has_failed()) throw;  // the next step may find memory
    }
  }
  return !has_failed();
}

void StepGuard::call(FunctionRef<void()> body) {
  const Call call(*this);
  body();
}

bool StepGuard::watch(OnFailure on_failure) {
  const double latest = now_() - limit_seconds_;
  double begun = call_begun_.load();
  if (begun == kSeized || begun >= latest) return has_failed();
  const std::lock_guard lock(seized_);
  if (!call_begun_.compare_exchange_strong(begun, kSeized) || has_failed()) return has_failed();
  fail(Error(ErrorCode::kInternal, cat("a step takes longer than ", limit_seconds_, " s")),
       on_failure);
  return true;
}

void StepGuard::fail(const Error& error, OnFailure on_failure) {
  failure_ = error;
  has_failed_.store(true);
  on_failure(error);
}

void StepGuard::require_alive() const {
  if (has_failed()) {
    throw Error(ErrorCode::kInternal, cat("the engine cannot continue: ", failure_->message()));
  }
}

}  // namespace ingot
