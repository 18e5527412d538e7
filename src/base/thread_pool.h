// ThreadPool: parallel loops over items, with a range of items for each thread and work stealing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace ingot {

/// The CPUs that the calling thread may use, in ascending order; empty if the system does not say.
/// A thread that a ThreadPool has bound may use one.
std::vector<std::size_t> allowed_cpus();

/// The number of allowed_cpus, at least 1.
int available_cpus();

/// Settings of a ThreadPool.
struct ThreadPoolOptions {
  bool pin = false;                 ///< bind each thread, and the constructing one, to its own CPU
  std::vector<std::size_t> cpus{};  ///< the CPUs to use; empty: those of the constructing thread
};

/// Threads that run one loop at a time, together with the calling thread.
///
/// Every item runs exactly once, on any thread. So a body writes only to memory of its item, and
/// sums over items are taken in an order that does not depend on which item ends first. A loop
/// allocates nothing. Idle threads spin briefly, then sleep.
class ThreadPool {
 public:
  /// Starts `threads` - 1 workers; the thread that calls parallel_for is the remaining one.
  ///
  /// Errors: kDoesNotFit when the system refuses a thread; `threads` < 1 is a bug (INGOT_CHECK).
  explicit ThreadPool(int threads, ThreadPoolOptions options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Threads that take part in a loop, the caller included.
  int size() const { return size_; }
  /// The CPUs that it uses: those of the options, or all that the constructing thread had before it
  /// was bound. Empty if the system does not say.
  const std::vector<std::size_t>& cpus() const { return cpus_; }

  /// Locks the pool while the result lives. A thread that shares the pool holds it from the first
  /// loop of a step to the last. Waits for the present holder; not recursive.
  [[nodiscard]] std::unique_lock<std::mutex> acquire() { return std::unique_lock(owner_); }

  /// Runs body(item, thread) for each item in [0, items) and returns when all are done.
  ///
  /// Thread t first runs the t-th of `size()` equal ranges, in ascending order, then steals from
  /// the others. `thread` is below size(), and different in calls that run at once. The caller's
  /// floating-point environment is made canonical (fp_env.h); the workers' always is.
  ///
  /// Errors: none; a body that throws ends the process. Nested use, and concurrent use without
  /// `acquire`, is a bug (INGOT_CHECK).
  void parallel_for(std::int64_t items, FunctionRef<void(std::int64_t item, int thread)> body);

 private:
  /// The items of one thread's range that are not claimed yet. It has its own cache line, since all
  /// threads claim from it.
  struct alignas(64) Range {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  struct CallerAffinity;

  void start_workers(bool pin);
  void stop_workers();
  void work(int thread);
  bool join_loop();
  void leave_loop();
  void run_items(int thread) noexcept;

  const int size_;
  const std::vector<std::size_t> cpus_;
  int spins_ = 0;
  std::unique_ptr<Range[]> ranges_;
  const FunctionRef<void(std::int64_t, int)>* body_ = nullptr;

  std::mutex owner_;               ///< held by `acquire` for whole steps; a loop never locks it
  std::atomic<bool> busy_{false};  ///< a parallel_for runs
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  ///< counts loops; workers sleep on it
  alignas(64) std::atomic<std::uint32_t> loop_{
      0};  ///< kOpen while threads may join, plus workers inside
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
  std::unique_ptr<CallerAffinity> caller_affinity_;
};

}  // namespace ingot
