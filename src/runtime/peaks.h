// What the machine does at best, measured: the limits that speeds are quoted against.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "model/step_cost.h"

namespace ingot {

/// Rates that no kernel exceeds for long. An operation is a product or a sum.
struct Peaks {
  double read_gb_s = 0;    ///< 10^9 bytes a second from memory
  double f32_gflop_s = 0;  ///< fused multiply-adds of floats, two operations each
  double int8_gop_s = 0;   ///< dot products of bytes
};

/// The peaks of one thread and of all threads.
struct MeasuredPeaks {
  Peaks one_thread;
  Peaks all_threads;
  int threads = 0;              ///< that are meant by all
  std::int64_t read_bytes = 0;  ///< size of the memory that was read
};

/// The memory to measure reading with: far more than the caches hold, at most a quarter of what is
/// available.
std::int64_t peak_read_bytes(std::int64_t available_bytes);

/// Measures one kernel table on `threads` threads of its own, at most one for each of `cpus` and
/// bound to it, the best of many short windows: about two seconds.
///
/// `between` is called between windows and may throw to end it. What the kernels return is checked,
/// so that no part of their work was left out.
/// Units:  `read_bytes` is a number that peak_read_bytes gave; `cpus` are those of a ThreadPool, or
/// allowed_cpus().
/// Errors: Error{kDoesNotFit} when the system does not give that much memory.
MeasuredPeaks measure_peaks(int threads, const std::vector<std::size_t>& cpus,
                            const KernelTable& table, std::int64_t read_bytes,
                            FunctionRef<void()> between);

/// The time that a step takes at the least:
///
///     max(bytes / read peak, int8 operations / int8 peak + f32 operations / f32 peak)
double ideal_seconds(const StepCost& cost, const Peaks& peaks);

}  // namespace ingot
