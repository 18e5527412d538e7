// Tests of ThreadPool: every item once, whatever the sizes; stealing; environment; misuse.
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/fp_env.h"
#include "base/index.h"

namespace ingot {
namespace {

TEST(ThreadPool, EveryItemOnceForEverySize) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const std::int64_t items : {0, 1, 2, 3, 4, 5, 7, 16, 100, 1000}) {
      std::vector<std::atomic<int>> runs(to_size(items));
      pool.parallel_for(items, [&](std::int64_t item, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        at(runs, item).fetch_add(1);
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

/// Writes of one loop, without atomics, are seen by the next loop and by the caller.
TEST(ThreadPool, LoopsFollowOneAnother) {
  constexpr std::int64_t kItems = 64;
  ThreadPool pool(3);
  std::vector<std::int64_t> values(kItems);
  for (std::int64_t loop = 0; loop < 5000; ++loop) {
    pool.parallel_for(kItems, [&](std::int64_t item, int) {
      // Reads what, as a rule, another thread wrote in the loop before.
      const auto i = to_size(kItems - 1 - item);
      values[i] += loop + 1;
    });
  }
  for (const std::int64_t value : values) EXPECT_EQ(value, 5000 * 5001 / 2);
}

/// Threads that outnumber the CPUs do not spin: between loops they sleep.
TEST(ThreadPool, SleepingThreadsAreWoken) {
  const int threads = static_cast<int>(std::thread::hardware_concurrency()) + 9;
  ThreadPool pool(threads);
  for (int loop = 0; loop < 300; ++loop) {
    std::atomic<int> runs{0};
    pool.parallel_for(2 * threads, [&](std::int64_t, int) { runs.fetch_add(1); });
    ASSERT_EQ(runs.load(), 2 * threads);
  }
}

/// The caller, having nothing left to do, goes to sleep while a worker is still busy, and must be
/// woken.
TEST(ThreadPool, ASleepingCallerIsWoken) {
  ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()) + 1);
  for (int loop = 0; loop < 10; ++loop) {
    std::atomic<int> workers_inside{0};
    std::atomic<unsigned> work{0};
    pool.parallel_for(2, [&](std::int64_t, int thread) {
      if (thread == 0) {
        // A worker has to have the other item before this one ends.
        while (workers_inside.load() == 0) std::this_thread::yield();
        return;
      }
      workers_inside.fetch_add(1);
      for (int i = 0; i < 1'000'000; ++i) work.fetch_add(1, std::memory_order_relaxed);
    });
    ASSERT_GE(work.load(), 1'000'000u);
  }
}

/// Holds one thread in its first item until all other items are done: other threads ran the rest of
/// its range.
TEST(ThreadPool, IdleThreadsSteal) {
  constexpr std::int64_t kItems = 14;  // few enough that each is claimed alone
  ThreadPool pool(2);
  std::atomic<std::int64_t> done{0};
  std::atomic<int> held_by{-1};
  std::vector<int> by(kItems, -1);
  pool.parallel_for(kItems, [&](std::int64_t item, int thread) {
    at(by, item) = thread;
    int nobody = -1;
    if (held_by.compare_exchange_strong(nobody, thread)) {
      while (done.load() < kItems - 1) std::this_thread::yield();
    }
    done.fetch_add(1);
  });
  EXPECT_EQ(std::count(by.begin(), by.end(), held_by.load()), 1);
}

TEST(ThreadPool, NoTwoCallsAtOnceShareAThreadNumber) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> clash{false};
  for (int loop = 0; loop < 200; ++loop) {
    pool.parallel_for(64, [&](std::int64_t, int thread) {
      auto& mine = at(inside, thread);
      if (mine.fetch_add(1) != 0) clash = true;
      mine.fetch_sub(1);
    });
  }
  EXPECT_FALSE(clash.load());
}

TEST(ThreadPool, EveryThreadComputesCanonically) {
  ThreadPool pool(3);
  std::fesetround(FE_UPWARD);
  EXPECT_FALSE(fp_is_canonical());
  std::atomic<int> canonical{0};
  pool.parallel_for(30, [&](std::int64_t, int) { canonical.fetch_add(fp_is_canonical() ? 1 : 0); });
  EXPECT_EQ(canonical.load(), 30);
  EXPECT_TRUE(fp_is_canonical());
}

TEST(ThreadPool, PinningIsUndoneForTheCaller) {
  cpu_set_t before;
  cpu_set_t inside;
  cpu_set_t after;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  {
    ThreadPool pool(2, {.pin = true});
    ASSERT_EQ(::sched_getaffinity(0, sizeof inside, &inside), 0);
    EXPECT_EQ(CPU_COUNT(&inside), 1);
    std::atomic<int> runs{0};
    pool.parallel_for(10, [&](std::int64_t, int) { runs.fetch_add(1); });
    EXPECT_EQ(runs.load(), 10);
  }
  ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(ThreadPool, DifferentThreadsMayUseItInTurn) {
  ThreadPool pool(2);
  for (int i = 0; i < 3; ++i) {
    std::atomic<int> runs{0};
    std::thread other([&] { pool.parallel_for(5, [&](std::int64_t, int) { runs.fetch_add(1); }); });
    other.join();
    EXPECT_EQ(runs.load(), 5);
  }
}

/// Without `acquire` this ends in "a thread pool runs one loop at a time".
TEST(ThreadPool, WhoAcquiresItHasItForSeveralLoops) {
  ThreadPool pool(2);
  int inside = 0;  // not atomic: the pool's owner alone touches it
  const auto use = [&] {
    for (int step = 0; step < 200; ++step) {
      const auto lease = pool.acquire();
      EXPECT_EQ(inside++, 0);
      for (int loop = 0; loop < 3; ++loop) pool.parallel_for(5, [](std::int64_t, int) {});
      --inside;
    }
  };
  std::thread other(use);
  use();
  other.join();
}

class ThreadPoolDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(ThreadPoolDeathTest, NestedUseIsABug) {
  ThreadPool pool(2);
  const auto nested = [&] {
    pool.parallel_for(4,
                      [&](std::int64_t, int) { pool.parallel_for(1, [](std::int64_t, int) {}); });
  };
  EXPECT_DEATH(nested(), "a thread pool runs one loop at a time");
}

TEST_F(ThreadPoolDeathTest, BadSizesAreBugs) {
  EXPECT_DEATH(ThreadPool(0), "a pool of 0 threads");
  EXPECT_DEATH(ThreadPool(1).parallel_for(-1, [](std::int64_t, int) {}), "a loop of -1 items");
}

TEST_F(ThreadPoolDeathTest, ABodyThatThrowsEndsTheProcess) {
  ThreadPool pool(1);
  EXPECT_DEATH(pool.parallel_for(1, [](std::int64_t, int) { throw std::runtime_error("no"); }), "");
}

#if !defined(INGOT_SANITIZED)
TEST_F(ThreadPoolDeathTest, TooManyThreadsAreAnError) {
  const auto start = [] {
    // Address space for some stacks, not for thousands.
    const rlimit limit{.rlim_cur = rlim_t{1} << 30, .rlim_max = rlim_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      ThreadPool pool(8192);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.message().c_str());
      std::exit(error.code() == ErrorCode::kDoesNotFit ? 7 : 8);
    }
    std::exit(9);
  };
  EXPECT_EXIT(start(), ::testing::ExitedWithCode(7), "cannot start thread [0-9]+ of 8192: ");
}
#endif

}  // namespace
}  // namespace ingot
