// Tests of ConstraintCache: one compilation for all threads, failures, eviction.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "constraint/constraint.h"

namespace ingot {
namespace {

using ConstraintPtr = std::shared_ptr<const Constraint>;
constexpr int kThreads = 64;

ConstraintPtr make_dummy(std::size_t bytes = 1) {
  auto constraint = std::make_shared<Constraint>();
  constraint->bytes = bytes;
  return constraint;
}

template <class Work>
void run_threads(const Work& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&work, t] { work(t); });
  for (std::thread& thread : threads) thread.join();
}

std::string refusal_of(ConstraintCache& cache, const std::string& key,
                       const std::function<ConstraintPtr()>& compile) {
  try {
    cache.get(key, compile);
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

/// X14: 64 requests with one schema at the same time.
TEST(ConstraintCache, CompilesOnceForManyThreads) {
  ConstraintCache cache(nullptr);
  std::latch ready(kThreads);
  std::atomic<int> compilations = 0;
  std::vector<ConstraintPtr> results(kThreads);
  run_threads([&](int t) {
    ready.count_down();
    results[static_cast<std::size_t>(t)] = cache.get("key", [&] {
      ready.wait();  // until all threads are about to ask
      ++compilations;
      return make_dummy();
    });
  });
  EXPECT_EQ(compilations, 1);
  for (const ConstraintPtr& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_EQ(cache.count(), 1U);
}

TEST(ConstraintCache, OtherKeysDoNotWait) {
  ConstraintCache cache(nullptr);
  std::latch other_is_done(1);
  std::thread other([&] {
    cache.get("b", [] { return make_dummy(); });
    other_is_done.count_down();
  });
  cache.get("a", [&] {
    other_is_done.wait();
    return make_dummy();
  });
  other.join();
  EXPECT_EQ(cache.count(), 2U);
}

/// F15: a failure reaches every waiter, and is not kept.
TEST(ConstraintCache, FailuresReachAllWaiters) {
  ConstraintCache cache(nullptr);
  for (int round = 0; round < 20; ++round) {
    std::latch ready(kThreads);
    std::atomic<int> failures = 0;
    run_threads([&](int /*thread*/) {
      ready.count_down();
      const std::string message = refusal_of(cache, "key", [&]() -> ConstraintPtr {
        ready.wait();
        throw Error(ErrorCode::kInvalid, "no such thing");
      });
      failures += message == "no such thing" ? 1 : 0;
    });
    EXPECT_EQ(failures, kThreads);
    EXPECT_EQ(cache.count(), 0U);
  }
  EXPECT_NE(cache.get("key", [] { return make_dummy(); }), nullptr);
}

TEST(ConstraintCache, OtherExceptionsBecomeErrors) {
  ConstraintCache cache(nullptr);
  EXPECT_EQ(refusal_of(cache, "a", []() -> ConstraintPtr { throw std::bad_alloc(); }),
            "no memory is left for the constraint");
  EXPECT_EQ(refusal_of(cache, "a", []() -> ConstraintPtr { throw std::runtime_error("odd"); }),
            "odd");
  EXPECT_NE(refusal_of(cache, "a", [] { return ConstraintPtr(); }), "accepted");
  EXPECT_EQ(cache.bytes(), 0U);
  EXPECT_EQ(refusal_of(cache, "a", [] { return make_dummy(); }), "accepted");
}

/// An exception of any type wakes the waiters.
TEST(ConstraintCache, UnknownExceptionsReachAllWaiters) {
  ConstraintCache cache(nullptr);
  std::latch ready(kThreads);
  std::atomic<int> failures = 0;
  run_threads([&](int /*thread*/) {
    ready.count_down();
    const std::string message = refusal_of(cache, "key", [&]() -> ConstraintPtr {
      ready.wait();
      throw 1;
    });
    failures += message == "a constraint was not compiled" ? 1 : 0;
  });
  EXPECT_EQ(failures, kThreads);
  EXPECT_EQ(cache.count(), 0U);
}

TEST(ConstraintCache, GoodTrafficBesideFailures) {
  ConstraintCache cache(nullptr);
  std::atomic<int> wrong = 0;
  run_threads([&](int t) {
    for (int i = 0; i < 100; ++i) {
      const int number = (t + i) % 16;
      const bool fails = number % 2 == 0;
      const std::string message = refusal_of(cache, cat("key", number), [&]() -> ConstraintPtr {
        if (fails) throw Error(ErrorCode::kInvalid, cat("bad ", number));
        return make_dummy();
      });
      wrong += message == (fails ? cat("bad ", number) : "accepted") ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.count(), 8U);
}

TEST(ConstraintCache, EvictsTheLeastRecentlyUsed) {
  ConstraintCache cache(nullptr);
  int compilations = 0;
  const auto use = [&](int number) {
    return cache.get(cat("key", number), [&] {
      ++compilations;
      return make_dummy();
    });
  };
  for (int i = 0; i < 64; ++i) use(i);
  EXPECT_EQ(compilations, 64);
  const ConstraintPtr first = use(0);  // used again: now key 1 is the oldest
  EXPECT_EQ(compilations, 64);
  use(64);
  EXPECT_EQ(cache.count(), ConstraintCache::kCountMax);
  EXPECT_EQ(use(0), first);
  EXPECT_EQ(compilations, 65);
  use(1);
  EXPECT_EQ(compilations, 66);
}

TEST(ConstraintCache, KeepsWithinItsBytes) {
  ConstraintCache cache(nullptr);
  constexpr std::size_t kThird = ConstraintCache::kBytesMax / 3;
  for (const char* key : {"a", "b", "c", "d"}) {
    cache.get(key, [] { return make_dummy(kThird - 1); });
  }
  EXPECT_EQ(cache.count(), 3U);
  EXPECT_LE(cache.bytes(), ConstraintCache::kBytesMax);
  // A constraint that exceeds the limit alone is returned and not kept, and evicts nothing.
  const ConstraintPtr large =
      cache.get("e", [] { return make_dummy(ConstraintCache::kBytesMax + 1); });
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(cache.count(), 3U);
}

}  // namespace
}  // namespace ingot
