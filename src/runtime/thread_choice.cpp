// choose_cpus: picks CPUs by core and quota, and measures speed if a core has several CPUs.
#include "runtime/thread_choice.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <utility>

#include "backend/buffer.h"
#include "base/index.h"
#include "base/processors.h"
#include "base/thread_pool.h"

namespace ingot {

namespace {

/// Runs per second of a loop that reads memory and multiplies, as steps do.
double measured_speed(const HostKernels& kernels, const std::vector<std::size_t>& cpus) {
  constexpr std::int64_t kItems = 512;
  constexpr std::int64_t kBytes = 128 << 10;  // per item; 64 MiB for all items
  constexpr std::int64_t kRounds = 2048;      // take some microseconds, like reading the bytes
  constexpr int kTries = 5;
  ThreadPool pool(static_cast<int>(cpus.size()), {.pin = true, .cpus = cpus});
  const Buffer memory = allocate_host(kItems * kBytes);
  // Writes all memory first, because unwritten memory is one page of zeros.
  pool.parallel_for(kItems, [&](std::int64_t item, int) {
    __builtin_memset(memory.data() + item * kBytes, 1, kBytes);
  });
  const PeakOperands operands;
  std::atomic<std::int32_t> sum{0};
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(kItems, [&](std::int64_t item, int) {
      sum += kernels.peak_read(memory.data() + item * kBytes, kBytes) +
             kernels.peak_int8.front().run(kRounds, operands);
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, 1 / std::max(took.count(), 1e-9));
  }
  return best;
}

}  // namespace

std::vector<std::size_t> choose_cpus(std::span<const std::size_t> cpus,
                                     FunctionRef<double(const std::vector<std::size_t>&)> speed,
                                     const std::string& root) {
  const double quota = control_group_cpus(root);
  const auto most = static_cast<std::size_t>(std::clamp(quota, 1.0, 1e6));
  const auto limited = [&](std::vector<std::size_t> some) {
    if (quota > 0 && some.size() > most) some.resize(most);
    return some;
  };
  std::vector<std::size_t> cores = one_cpu_per_core(cpus, root);
  std::vector<std::size_t> all = cores;
  std::copy_if(cpus.begin(), cpus.end(), std::back_inserter(all), [&](std::size_t cpu) {
    return std::find(cores.begin(), cores.end(), cpu) == cores.end();
  });
  cores = limited(std::move(cores));
  all = limited(std::move(all));
  constexpr double kWorthIt = 1.05;
  const bool more = all.size() > cores.size() && speed(all) >= kWorthIt * speed(cores);
  return more ? all : cores;
}

std::vector<std::size_t> choose_cpus(const HostKernels& kernels) {
  return choose_cpus(allowed_cpus(), [&](const std::vector<std::size_t>& cpus) {
    return measured_speed(kernels, cpus);
  });
}

}  // namespace ingot
