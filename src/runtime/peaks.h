// What the machine does at best, measured: the limits that speeds are quoted against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "model/step_cost.h"

namespace ingot {

/// Rates that no kernel exceeds for long. An operation is a product or a sum.
struct Peaks {
  double read_gb_s = 0;    ///< 10^9 bytes a second from memory, over a whole pass
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

/// Measures the peaks of one kernel table, again and again: where neighbours use the same machine
/// they change within seconds, so what is compared with them is measured beside them.
///
/// Of computing the best of many short windows counts, of reading the best pass over all of the
/// memory. What the kernels return is checked, so that no part of their work was left out.
class PeakMeter {
 public:
  /// `threads` of the meter's own at most, one for each of `cpus` and bound to it. `between` is
  /// called between windows and may throw to end a measurement.
  /// Units: `read_bytes` is a number that peak_read_bytes gave; `cpus` are those of a ThreadPool,
  /// or allowed_cpus().
  PeakMeter(int threads, std::vector<std::size_t> cpus, const KernelTable& table,
            std::int64_t read_bytes, std::function<void()> between);

  /// Everything: about a second.
  /// Errors: Error{kDoesNotFit} when the system does not give that much memory.
  MeasuredPeaks measure();
  /// The peaks of all threads, with the kernels that measure() found to be the fastest: half a
  /// second.
  /// Errors: as measure(), which comes first.
  Peaks measure_again() const;

 private:
  const int threads_;
  const std::vector<std::size_t> cpus_;
  const KernelTable& table_;
  const std::int64_t read_bytes_;
  const std::function<void()> between_;
  PeakKernel<std::int32_t> int8_{};  ///< the table's fastest on one thread, once measured
  PeakKernel<float> f32_{};
};

/// The time that a step takes at the least:
///
///     max(bytes / read peak, int8 operations / int8 peak + f32 operations / f32 peak)
double ideal_seconds(const StepCost& cost, const Peaks& peaks);

}  // namespace ingot
