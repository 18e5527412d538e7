// StepWatch and StepTimer: for how long a runner has been computing, seen from another thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

namespace ingot {

/// Lets another thread take an engine over from one that does not come back from its runner. One
/// thread makes calls, any others look at them.
class StepWatch {
 public:
  /// A call of the runner, which began at `now`. Ends once nobody holds the engine.
  class Call {
   public:
    Call(StepWatch& watch, double now) : watch_(watch) { watch_.begun_.store(now); }
    ~Call() { watch_.end(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    StepWatch& watch_;
  };

  /// Holds the engine, until it goes, where a call is under way that began before `time`: its
  /// thread does not get on meanwhile. Once for each call.
  [[nodiscard]] std::unique_lock<std::mutex> seize(double time) {
    double begun = begun_.load();
    if (begun == kSeized || begun >= time) return {};
    std::unique_lock lock(mutex_);
    if (!begun_.compare_exchange_strong(begun, kSeized)) return {};
    return lock;
  }

 private:
  static constexpr double kNoCall = std::numeric_limits<double>::infinity();
  static constexpr double kSeized = -kNoCall;

  void end() {
    if (begun_.exchange(kNoCall) != kSeized) return;
    const std::lock_guard wait(mutex_);
  }

  std::atomic<double> begun_{kNoCall};
  std::mutex mutex_;  ///< held by who seized the engine
};

/// For how long a step has been under way, seen from any thread. One thread begins and ends steps.
class StepTimer {
 public:
  /// At a step's first call of the runner, and at its others, which change nothing.
  void begin(double now) {
    if (begun_.load(std::memory_order_relaxed) == kNoStep) begun_.store(now);
  }
  void end() { begun_.store(kNoStep); }
  bool is_under_way() const { return begun_.load() != kNoStep; }
  /// 0 between steps.
  double seconds(double now) const {
    const double begun = begun_.load();
    return begun == kNoStep ? 0 : std::max(0.0, now - begun);
  }

 private:
  static constexpr double kNoStep = std::numeric_limits<double>::infinity();

  std::atomic<double> begun_{kNoStep};
  static_assert(std::atomic<double>::is_always_lock_free);
};

}  // namespace ingot
