// What the kernel benches share: digests, times, and the limits that they are compared with.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/buffer.h"
#include "backend/cpu/kernel_table.h"
#include "base/function_ref.h"
#include "base/system_memory.h"
#include "base/thread_pool.h"
#include "bench/peaks.h"
#include "bench/statistics.h"
#include "runtime/sampling/digest.h"

namespace ingot::bench {

inline std::string digest_of(std::span<const float> rows) {
  Digest digest;
  digest.add(rows);
  return digest.text();
}

/// The machine's peaks with a table's operations, measured once, on all CPUs.
inline const Peaks& peaks_of(const KernelTable& table) {
  static std::map<const KernelTable*, Peaks> known;
  const auto found = known.find(&table);
  if (found != known.end()) return found->second;
  const std::int64_t bytes = peak_read_bytes(available_memory());
  return known[&table] =
             PeakMeter(available_cpus(), allowed_cpus(), table, bytes, [] {}).measure().all_threads;
}

inline double seconds_of(FunctionRef<void()> work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Reads on all threads and does nothing else.
inline void read_all(ThreadPool& pool, const KernelTable& table, std::span<const std::byte> bytes) {
  constexpr std::int64_t kChunk = 128 << 10;
  pool.parallel_for(std::ssize(bytes) / kChunk, [&](std::int64_t i, int) {
    benchmark::DoNotOptimize(table.peak_read(bytes.data() + i * kChunk, kChunk));
  });
}

/// A block in large pages that is there to be read.
inline Buffer readable_block(std::int64_t bytes) {
  Buffer memory = allocate_host(bytes);
  if (bytes == 0) return memory;
  __builtin_memset(memory.data(), 1, static_cast<std::size_t>(memory.bytes()));
  return memory;
}

}  // namespace ingot::bench
