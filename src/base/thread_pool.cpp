// ThreadPool: the fork-join protocol of parallel loops.
//
// A loop is open from its start until the caller finds no item left. Workers join an open loop by
// adding one to `loop_`, and leave it by taking one off; the caller closes the loop and waits for
// the count to reach zero. So a worker that sleeps through a short loop delays no thread, and no
// worker is inside when the next loop is set up.
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/errno_text.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/index.h"
#include "base/signal_stack.h"
#include "base/text.h"

namespace ingot {

namespace {

constexpr std::uint32_t kOpen = 0x80000000u;
/// Number of pauses before a thread sleeps, 20 to 60 microseconds together. This is longer than the
/// gap between two loops of a step. With fewer, threads sleep inside a step and wake up late.
constexpr int kSpins = 1000;
/// A claim takes 1/8 of the remaining items: few claims at first, single items at the end, so that
/// all threads finish together.
constexpr std::int64_t kPartsOfRest = 8;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

void pin_to(pthread_t thread, std::size_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // A preference: a system that refuses it runs the thread elsewhere.
  ::pthread_setaffinity_np(thread, sizeof set, &set);
}

}  // namespace

std::vector<std::size_t> allowed_cpus() {
  std::vector<std::size_t> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

int available_cpus() { return std::max(1, static_cast<int>(allowed_cpus().size())); }

/// The CPUs that the constructing thread was allowed to use before it was pinned.
struct ThreadPool::CallerAffinity {
  pthread_t thread = ::pthread_self();
  cpu_set_t set{};
};

ThreadPool::ThreadPool(int threads, ThreadPoolOptions options)
    : size_(threads), cpus_(options.cpus.empty() ? allowed_cpus() : std::move(options.cpus)) {
  INGOT_CHECK(threads >= 1, "a pool of ", threads, " threads");
  ranges_ = std::make_unique<Range[]>(to_size(size_));
  start_workers(options.pin);
}

ThreadPool::~ThreadPool() {
  stop_workers();
  if (caller_affinity_ && ::pthread_equal(caller_affinity_->thread, ::pthread_self())) {
    ::pthread_setaffinity_np(::pthread_self(), sizeof(cpu_set_t), &caller_affinity_->set);
  }
}

void ThreadPool::start_workers(bool pin) {
  // If there are more threads than CPUs, a spinning thread delays a working one.
  spins_ = to_size(size_) <= cpus_.size() ? kSpins : 0;
  workers_.reserve(to_size(size_ - 1));
  int error = 0;
  try {
    for (int t = 1; t < size_; ++t) workers_.emplace_back([this, t] { work(t); });
  } catch (const std::system_error& refused) {
    error = refused.code().value();
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  if (error != 0) {
    const std::size_t started = workers_.size() + 1;
    stop_workers();
    throw Error(ErrorCode::kDoesNotFit,
                cat("cannot start thread ", started + 1, " of ", size_, ": ", errno_text(error),
                    "; fewer `threads` need less"));
  }
  if (!pin || cpus_.empty()) return;
  caller_affinity_ = std::make_unique<CallerAffinity>();
  ::pthread_getaffinity_np(::pthread_self(), sizeof(cpu_set_t), &caller_affinity_->set);
  pin_to(::pthread_self(), cpus_[0]);
  for (std::size_t t = 1; t < to_size(size_); ++t) {
    pin_to(workers_[t - 1].native_handle(), cpus_[t % cpus_.size()]);
  }
}

void ThreadPool::stop_workers() {
  stopping_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void ThreadPool::work(int thread) {
  const SignalStack stack;
  set_canonical_fp();
  std::uint32_t seen = 0;
  while (true) {
    for (int i = 0; i < spins_ && epoch_.load() == seen; ++i) pause_briefly();
    epoch_.wait(seen);
    seen = epoch_.load();
    if (stopping_.load()) return;
    if (!join_loop()) continue;
    INGOT_CHECK(fp_is_canonical(), "a loop's body left thread ", thread, " in another mode");
    run_items(thread);
    leave_loop();
  }
}

bool ThreadPool::join_loop() {
  std::uint32_t loop = loop_.load();
  while ((loop & kOpen) != 0) {
    if (loop_.compare_exchange_weak(loop, loop + 1)) return true;
  }
  return false;
}

void ThreadPool::leave_loop() {
  if (loop_.fetch_sub(1) == 1) loop_.notify_one();
}

void ThreadPool::run_items(int thread) noexcept {
  for (int i = 0; i < size_; ++i) {
    Range& range = ranges_[to_size((thread + i) % size_)];
    while (true) {
      const std::int64_t rest = range.end - range.next.load(std::memory_order_relaxed);
      if (rest <= 0) break;
      const std::int64_t claim = std::max<std::int64_t>(1, rest / kPartsOfRest);
      const std::int64_t first = range.next.fetch_add(claim, std::memory_order_relaxed);
      const std::int64_t last = std::min(first + claim, range.end);
      for (std::int64_t item = first; item < last; ++item) (*body_)(item, thread);
    }
  }
}

void ThreadPool::parallel_for(std::int64_t items, FunctionRef<void(std::int64_t, int)> body) {
  INGOT_CHECK(items >= 0, "a loop of ", items, " items");
  INGOT_CHECK(!busy_.exchange(true), "a thread pool runs one loop at a time");
  set_canonical_fp();
  const std::int64_t share = items / size_;
  const std::int64_t extra = items % size_;
  for (int t = 0; t < size_; ++t) {
    Range& range = ranges_[to_size(t)];
    range.next.store(t * share + std::min<std::int64_t>(t, extra), std::memory_order_relaxed);
    range.end = (t + 1) * share + std::min<std::int64_t>(t + 1, extra);
  }
  body_ = &body;
  const bool alone = size_ == 1 || items <= 1;
  if (!alone) {
    loop_.store(kOpen);
    epoch_.fetch_add(1);
    epoch_.notify_all();
  }
  run_items(0);
  if (!alone) {
    std::uint32_t loop = loop_.fetch_and(~kOpen) & ~kOpen;
    for (int i = 0; i < spins_ && loop != 0; ++i) {
      pause_briefly();
      loop = loop_.load();
    }
    for (; loop != 0; loop = loop_.load()) loop_.wait(loop);
  }
  body_ = nullptr;
  busy_.store(false);
}

}  // namespace ingot
