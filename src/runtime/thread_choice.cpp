// Cores, quotas, and a measurement where they leave a choice.
#include "runtime/thread_choice.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "backend/buffer.h"
#include "base/processors.h"
#include "base/thread_pool.h"

namespace ingot {

namespace {

/// What a step is made of: reading memory, and products of what was read.
double measured_speed(const KernelTable& table, const std::vector<std::size_t>& cpus) {
  constexpr std::int64_t kItems = 64;
  constexpr std::int64_t kBytes = 128 << 10;  // of an item
  constexpr std::int64_t kRounds = 2048;      // some microseconds, like reading the bytes
  constexpr int kTries = 8;
  ThreadPool pool(static_cast<int>(cpus.size()), {.pin = true, .cpus = cpus});
  const Buffer memory = allocate_host(kItems * kBytes);
  const PeakOperands operands;
  std::atomic<std::int32_t> sum{0};
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(kItems, [&](std::int64_t item, int) {
      sum += table.peak_read(memory.data() + item * kBytes, kBytes) +
             table.peak_int8.front().run(kRounds, operands);
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, 1 / std::max(took.count(), 1e-9));
  }
  return best;
}

}  // namespace

int choose_threads(std::span<const std::size_t> cpus,
                   FunctionRef<double(const std::vector<std::size_t>&)> speed,
                   const std::string& root) {
  const double quota = control_group_cpus(root);
  const auto limited = [&](std::vector<std::size_t> some) {
    const auto most = static_cast<std::size_t>(std::clamp(quota, 1.0, 1e6));
    if (quota > 0 && some.size() > most) some.resize(most);
    return some;
  };
  const std::vector<std::size_t> cores = limited(one_cpu_per_core(cpus, root));
  const std::vector<std::size_t> all = limited({cpus.begin(), cpus.end()});
  constexpr double kWorthIt = 1.05;
  const bool more = all.size() > cores.size() && speed(all) >= kWorthIt * speed(cores);
  return std::max(1, static_cast<int>(more ? all.size() : cores.size()));
}

int choose_threads(const KernelTable& table) {
  return choose_threads(allowed_cpus(), [&](const std::vector<std::size_t>& cpus) {
    return measured_speed(table, cpus);
  });
}

}  // namespace ingot
