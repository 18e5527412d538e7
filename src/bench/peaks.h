// PeakMeter: measures peak rates of memory and arithmetic, which bound a model's speed.
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
  double read_gb_s = 0;    ///< rate of reading memory, in 10^9 bytes per second
  double f32_gflop_s = 0;  ///< rate of float fused multiply-adds, in 10^9 operations per second
  double int8_gop_s = 0;   ///< rate of dot products of bytes, in 10^9 operations per second
  /// Rate of products of bfloat16 in AMX tiles or of pairs; 0: the instruction set has neither.
  double bf16_gflop_s = 0;
  double int8_tiles_gop_s = 0;  ///< rate of products of bytes in AMX tiles; 0: there are none

  /// Returns the rate that bounds work in BF16: `bf16_gflop_s`, or that of fused multiply-adds.
  double limit_of_bf16() const { return bf16_gflop_s > 0 ? bf16_gflop_s : f32_gflop_s; }
};

/// The peaks of one thread and of all threads.
struct MeasuredPeaks {
  Peaks one_thread;
  Peaks all_threads;
  int threads = 0;              ///< number of threads that `all_threads` covers
  std::int64_t read_bytes = 0;  ///< bytes of the memory that each pass reads
};

/// Returns the size in bytes of the memory that PeakMeter reads: a quarter of the available memory,
/// but at least 256 KiB and at most 1 GiB.
std::int64_t peak_read_bytes(std::int64_t available_bytes);

/// Measures the peaks of one instruction set. On a shared machine the peaks change within seconds,
/// so a benchmark measures them again between its runs.
///
/// An arithmetic rate comes from the fastest period of about 1 ms. The read rate comes from the
/// fastest pass over the memory, or the fastest few passes if the memory has only a few MB.
/// PeakMeter checks the kernels' results, so that the compiler cannot drop the kernels' work.
class PeakMeter {
 public:
  /// Measurements use at most `threads` own threads, each bound to one of `cpus`. Measurements
  /// call `between` repeatedly on the calling thread. `between` may throw to end a measurement.
  ///
  /// Units:  `read_bytes` comes from peak_read_bytes; a buffer of this size is allocated. `cpus`
  ///         are those of a ThreadPool, or allowed_cpus().
  /// Errors: Error{kDoesNotFit} if the allocation fails.
  PeakMeter(int threads, std::vector<std::size_t> cpus, const HostKernels& kernels,
            std::int64_t read_bytes, std::function<void()> between);

  /// Measures all peaks, in about 1.5 s. Those of tiles stay 0 without tiles.
  ///
  /// Errors: Error{kDoesNotFit} if the system refuses a thread.
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
  Buffer buffer_;  ///< the memory to read; measure() fills it with 32-bit integers of value 1
  Peaks one_thread_{};
  PeakKernel<std::int32_t> int8_{};  ///< the fastest kernel on one thread; measure() sets it
  PeakKernel<float> f32_{};
};

/// Returns the highest rate of `window` consecutive pieces of work, in pieces per second. `ends`
/// has all pieces' end times in seconds, in any order. Returns 0 for at most `window` end times.
double best_rate(std::vector<double> ends, std::size_t window);

/// Returns a lower bound of the time of a step, in seconds:
///
///     max(bytes / read peak, int8 operations / int8 peak + f32 operations / f32 peak
///                                + bf16 operations / Peaks::bf16_gflop_s)
///
/// The int8 peak is that of vectors, also with tiles. Formats with a scale per group cannot reach
/// the peak of tiles, because vectors scale the sums of each group.
double ideal_seconds(const StepCost& cost, const Peaks& peaks);

}  // namespace ingot
