// PeakMeter: measures the machine's limits, which speeds are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backend/buffer.h"
#include "backend/host_kernels.h"
#include "model/step_cost.h"

namespace ingot {

/// The machine's best rates. An operation is a product or a sum.
struct Peaks {
  double read_gb_s = 0;    ///< 10^9 bytes per second from memory, over a whole pass
  double f32_gflop_s = 0;  ///< fused multiply-adds of floats, two operations each
  double int8_gop_s = 0;   ///< dot products of bytes
};

/// The peaks of one thread and of all threads.
struct MeasuredPeaks {
  Peaks one_thread;
  Peaks all_threads;
  int threads = 0;              ///< number of threads in `all`
  std::int64_t read_bytes = 0;  ///< bytes of memory per pass
};

/// The bytes of memory to measure reading with: far more than the caches hold, at most a quarter of
/// the available memory.
std::int64_t peak_read_bytes(std::int64_t available_bytes);

/// Measures the peaks of one instruction set, repeatedly: on a shared machine they change within
/// seconds, so each benchmark measures them beside its own work.
///
/// Computing counts its best window of one millisecond. Reading counts its best pass over the
/// memory, or over several passes for less than a few MB. The kernels' results are checked, so that
/// the compiler cannot drop work.
class PeakMeter {
 public:
  /// Uses at most `threads` threads of its own, each bound to one of `cpus` during a measurement.
  /// `between` is called between parts of a measurement on the calling thread, and may throw to end
  /// it.
  ///
  /// Units:  `read_bytes` is a result of peak_read_bytes, allocated here; `cpus` are those of a
  ///         ThreadPool, or allowed_cpus().
  /// Errors: Error{kDoesNotFit} when the allocation fails.
  PeakMeter(int threads, std::vector<std::size_t> cpus, const HostKernels& kernels,
            std::int64_t read_bytes, std::function<void()> between);

  /// Measures all peaks, in about 1.5 s.
  ///
  /// Errors: Error{kDoesNotFit} when the system refuses a thread.
  MeasuredPeaks measure();
  /// Measures the peaks of all threads with the fastest kernels of measure(), in about 0.5 s.
  /// Requires an earlier measure() (INGOT_CHECK).
  ///
  /// Errors: those of measure().
  Peaks measure_again() const;

 private:
  const int threads_;
  const std::vector<std::size_t> cpus_;
  const HostKernels& kernels_;
  const std::function<void()> between_;
  Buffer buffer_;  ///< the memory to read; words of 1 after the first measurement
  Peaks one_thread_{};
  PeakKernel<std::int32_t> int8_{};  ///< the fastest kernel on one thread, after measure()
  PeakKernel<float> f32_{};
};

/// The best rate over `window` consecutive pieces of work, in pieces per second; `ends` are their
/// end times in any order. 0 for at most `window` pieces.
double best_rate(std::vector<double> ends, std::size_t window);

/// The shortest possible time of a step in seconds:
///
///     max(bytes / read peak, int8 operations / int8 peak + f32 operations / f32 peak)
double ideal_seconds(const StepCost& cost, const Peaks& peaks);

}  // namespace ingot
