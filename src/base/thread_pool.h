// ThreadPool: runs parallel loops over items. A thread first runs its own range, then steals items.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace ingot {

/// Returns the CPUs that the calling thread may use, in ascending order; empty if they are unknown.
/// A thread that a ThreadPool has bound may use only one CPU.
std::vector<std::size_t> allowed_cpus();

/// Returns the number of CPUs in allowed_cpus(), at least 1.
int available_cpus();

/// Options of a ThreadPool.
struct ThreadPoolOptions {
  bool pin = false;  ///< whether to bind each thread, also the constructing one, to one CPU
  std::vector<std::size_t> cpus{};  ///< the CPUs to use; empty: those of the constructing thread
};

/// Threads that run one parallel loop at a time, together with the calling thread.
///
/// Every item runs exactly once, on any thread. So a loop body must only write to memory of its
/// item, and sums over items must not depend on which item ends first. A loop allocates no memory.
/// Idle threads spin briefly, then sleep.
class ThreadPool {
 public:
  /// Starts `threads` - 1 workers. The thread that calls parallel_for computes too.
  ///
  /// Errors: kDoesNotFit if the system refuses a thread. `threads` < 1 is a bug (INGOT_CHECK).
  explicit ThreadPool(int threads, ThreadPoolOptions options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Returns the number of threads that run a loop, including the calling thread.
  int size() const { return size_; }
  /// Returns the CPUs that the pool uses: those of the options, or all CPUs that the constructing
  /// thread could use before it was bound. Empty if they are unknown.
  const std::vector<std::size_t>& cpus() const { return cpus_; }

  /// Locks the pool until the result is destroyed. Threads that share a pool hold this lock from
  /// the first to the last loop of a step. Waits for other threads. The lock is not recursive.
  [[nodiscard]] std::unique_lock<std::mutex> acquire() { return std::unique_lock(owner_); }

  /// Runs body(item, thread) for each item in [0, items). Returns when all items are done.
  ///
  /// Thread t first runs the t-th of `size()` equal ranges, in ascending order, then steals items
  /// from other ranges. `thread` is in [0, size()), and differs between simultaneous calls of body.
  /// All threads, the caller included, have the canonical floating-point environment (fp_env.h).
  ///
  /// Errors: a body that throws ends the process. Nested use, and concurrent use without `acquire`,
  /// is a bug (INGOT_CHECK).
  void parallel_for(std::int64_t items, FunctionRef<void(std::int64_t item, int thread)> body);

 private:
  /// The items of one thread's range that no thread has claimed yet. A Range has its own cache
  /// line, since all threads claim items from it.
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

  std::mutex owner_;               ///< `acquire` locks it for a whole step; a loop never locks it
  std::atomic<bool> busy_{false};  ///< whether a parallel_for runs
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  ///< started loops; a change wakes the workers
  alignas(64) std::atomic<std::uint32_t> loop_{
      0};  ///< number of workers in the loop, plus kOpen while more workers may join
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
  std::unique_ptr<CallerAffinity> caller_affinity_;
};

}  // namespace ingot
