// ThreadPool: fork-join over a range of items, with home ranges and stealing.
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
/// For a thread that a ThreadPool has bound, that is one.
std::vector<std::size_t> allowed_cpus();

/// How many those are, at least 1.
int available_cpus();

/// Settings of a ThreadPool.
struct ThreadPoolOptions {
  bool pin = false;  ///< bind each thread, the constructing one included, to a CPU of its own
  std::vector<std::size_t> cpus{};  ///< to use; empty = those of the constructing thread
};

/// Threads that run one loop at a time together with the calling thread.
///
/// Every item is run exactly once, by some thread. Which one is not determined, so a body must
/// write to places that belong to the item, and no sum may cross items but in an order that does
/// not depend on when they are done. Nothing is allocated per use. Threads spin briefly, then
/// sleep.
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
  /// The CPUs that it uses: the options' or, as they were before any thread was bound, those of the
  /// constructing thread. Empty if the system does not say.
  const std::vector<std::size_t>& cpus() const { return cpus_; }

  /// Takes the pool for as long as the result lives: who shares a pool with others holds it from a
  /// step's first loop to its last. Not recursive; waits for whoever has it.
  [[nodiscard]] std::unique_lock<std::mutex> acquire() { return std::unique_lock(owner_); }

  /// Runs body(item, thread) for each item in [0, items) and returns when all are done.
  ///
  /// Thread t's home is the t-th of `size()` equal contiguous parts, which it takes in ascending
  /// order; it then helps the others. `thread` is below size() and no two calls that run at once
  /// have the same one. The caller's floating-point environment is made canonical (fp_env.h); the
  /// workers' always is.
  ///
  /// Errors: none; a body that throws ends the process. Nested use, and concurrent use without
  /// `acquire`, is a bug (INGOT_CHECK).
  void parallel_for(std::int64_t items, FunctionRef<void(std::int64_t item, int thread)> body);

 private:
  /// What is left of one thread's home range. On a cache line of its own: every thread claims from
  /// it.
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

  std::mutex owner_;               ///< held by `acquire`, for whole steps; a loop never locks it
  std::atomic<bool> busy_{false};  ///< a parallel_for is under way
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  ///< counts loops; workers sleep on it
  alignas(64) std::atomic<std::uint32_t> loop_{
      0};  ///< kOpen while threads may join, plus workers inside
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
  std::unique_ptr<CallerAffinity> caller_affinity_;
};

}  // namespace ingot
