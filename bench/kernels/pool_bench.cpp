// What one fork and join of the thread pool costs: an empty loop, as often as an op forks.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "base/thread_pool.h"

namespace ingot {
namespace {

void fork_join(benchmark::State& state) {
  const auto threads = static_cast<int>(state.range(0));
  ThreadPool pool(threads);
  for (auto _ : state) {
    pool.parallel_for(threads, [](std::int64_t item, int) { benchmark::DoNotOptimize(item); });
  }
}
BENCHMARK(fork_join)->RangeMultiplier(2)->Range(1, std::max(2, available_cpus()))->UseRealTime();

}  // namespace
}  // namespace ingot
