// What the machine does at best, measured: the limits that speeds are quoted against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/buffer.h"
#include "backend/cpu/kernel_table.h"
#include "model/step_cost.h"

namespace ingot {

/// What the machine does at best. An operation is a product or a sum.
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
/// Of computing the best window of a millisecond counts, of reading the best pass over all of the
/// memory, or over several times that where it is less than a few MB. What the kernels return is
/// checked, so that no part of their work was left out.
class PeakMeter {
 public:
  /// `threads` of the meter's own at most, one for each of `cpus` and bound to it while it
  /// measures. `between` is called between parts of a measurement, on the thread that asked for it,
  /// and may throw to end it.
  ///
  /// Units:  `read_bytes` is a number that peak_read_bytes gave, allocated here; `cpus` are those
  /// of a ThreadPool, or allowed_cpus().
  /// Errors: Error{kDoesNotFit} when the system does not give that much memory.
  PeakMeter(int threads, std::vector<std::size_t> cpus, const KernelTable& table,
            std::int64_t read_bytes, std::function<void()> between);

  /// Everything: about a second and a half.
  ///
  /// Errors: Error{kDoesNotFit} when the system refuses a thread.
  MeasuredPeaks measure();
  /// The peaks of all threads, with the kernels that measure() found to be the fastest: about half
  /// a second. measure() comes first (INGOT_CHECK).
  ///
  /// Errors: as measure().
  Peaks measure_again() const;

 private:
  const int threads_;
  const std::vector<std::size_t> cpus_;
  const KernelTable& table_;
  const std::function<void()> between_;
  Buffer buffer_;  ///< what is read: words of 1, once measured
  Peaks one_thread_{};
  PeakKernel<std::int32_t> int8_{};  ///< the table's fastest on one thread, once measured
  PeakKernel<float> f32_{};
};

/// The best rate of `window` pieces of work one after the other, in pieces a second, from when
/// pieces were done, in any order; 0 of no more than `window`.
double best_rate(std::vector<double> ends, std::size_t window);

/// The time that a step takes at the least:
///
///     max(bytes / read peak, int8 operations / int8 peak + f32 operations / f32 peak)
double ideal_seconds(const StepCost& cost, const Peaks& peaks);

}  // namespace ingot
