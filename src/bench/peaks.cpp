// Measures peak rates: the best of short windows of known work, and of passes over memory.
#include "bench/peaks.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backend/buffer.h"
#include "base/check.h"
#include "base/function_ref.h"
#include "base/half.h"
#include "base/index.h"
#include "base/thread_pool.h"
#include "runtime/schedule/clock.h"

namespace ingot {

namespace {

constexpr std::int64_t kReadChunk = 256 << 10;
constexpr std::int64_t kReadBytesMax = std::int64_t{1} << 30;

/// Long compared with reading the clock; short compared with the time slices of other processes.
constexpr double kWindowSeconds = 0.001;
/// Each round adds 1 to a lane. Up to 2^22 rounds, float lanes and the sum of all lanes stay exact.
constexpr std::int64_t kRoundsMax = std::int64_t{1} << 22;
constexpr int kLanes = 16;
/// Operations that a round does in each lane of a chain.
constexpr double kInt8OpsALane = 8;
constexpr double kF32OpsALane = 2;
constexpr double kInt8TileOpsALane = 128;
constexpr double kBf16OpsALane = 64;
/// Seconds of trying windows on one thread, windows on all threads, and passes over memory.
constexpr double kOneSeconds = 0.05;
constexpr double kAllSeconds = 0.1;
constexpr double kReadSeconds = 0.2;
/// Least number of chunks per thread in a pass: about 1 ms of reading.
constexpr std::size_t kPassChunksMin = 48;

/// Operands with which a round adds 1 to every lane: 1 - 1 + 2 - 1 per four bytes, 1 * 1 in floats.
PeakOperands unit_operands() {
  PeakOperands operands;
  std::fill(std::begin(operands.u), std::end(operands.u), std::uint8_t{1});
  std::fill(std::begin(operands.w), std::end(operands.w), 1.0f);
  std::fill(std::begin(operands.f), std::end(operands.f), 1.0f);
  constexpr std::int8_t kFour[] = {1, -1, 2, -1};
  for (std::size_t i = 0; i < std::size(operands.x); ++i) operands.x[i] = kFour[i % 4];
  // A row of tiles adds 1 - 1 + 1 - 1 ... + 1 to every lane.
  for (std::size_t i = 0; i + 1 < std::size(operands.tile_x); ++i) {
    operands.tile_x[i] = i % 2 == 0 ? std::int8_t{1} : std::int8_t{-1};
  }
  std::fill(std::begin(operands.tile_w), std::end(operands.tile_w), float_to_bfloat16(1));
  for (std::size_t i = 0; i + 1 < std::size(operands.tile_f); ++i) {
    operands.tile_f[i] = float_to_bfloat16(i % 2 == 0 ? 1.0f : -1.0f);
  }
  return operands;
}

/// The threads that measure, and the callback between parts of a measurement.
class Watch {
 public:
  Watch(ThreadPool& pool, const std::function<void()>& between) : pool_(pool), between_(between) {}

  int threads() const { return pool_.size(); }
  void look_up() { between_(); }
  /// Runs body(item) for each item on all threads.
  void run(std::int64_t items, FunctionRef<void(std::int64_t)> body) {
    between_();
    pool_.parallel_for(items, [&](std::int64_t item, int) { body(item); });
  }

 private:
  ThreadPool& pool_;
  const std::function<void()>& between_;
};

/// Measures a kernel's rounds per second on the calling thread, in one window.
template <class Sum>
double rounds_per_second(const PeakKernel<Sum>& kernel, std::int64_t rounds) {
  const PeakOperands operands = unit_operands();
  const double start = steady_seconds();
  const Sum sum = kernel.run(rounds, operands);
  const double seconds = steady_seconds() - start;
  INGOT_CHECK(sum == static_cast<Sum>(rounds * kernel.chains * kLanes), "a peak kernel of ",
              kernel.chains, " chains gave ", sum, " after ", rounds, " rounds");
  return static_cast<double>(rounds) / seconds;
}

/// The rate of the best window, trying windows for `seconds`.
template <class Sum>
double best_rounds_per_second(const PeakKernel<Sum>& kernel, std::int64_t rounds, double seconds) {
  const double end = steady_seconds() + seconds;
  double best = 0;
  do {
    best = std::max(best, rounds_per_second(kernel, rounds));
  } while (steady_seconds() < end);
  return best;
}

/// A number of rounds, a power of two, that takes about one window.
template <class Sum>
std::int64_t choose_rounds(const PeakKernel<Sum>& kernel) {
  std::int64_t rounds = 1024;
  while (rounds < kRoundsMax) {
    const double rate = rounds_per_second(kernel, rounds);
    if (static_cast<double>(rounds) / rate > kWindowSeconds / 2) break;
    rounds *= 2;
  }
  return rounds;
}

/// Converts a kernel's rounds per second to 10^9 operations per second.
template <class Sum>
double gop(const PeakKernel<Sum>& kernel, double rounds, double ops_a_lane) {
  return ops_a_lane * kernel.chains * kLanes * rounds / 1e9;
}

/// The rate of the calling thread; 0 without a kernel.
template <class Sum>
double computed_by_one(Watch& watch, const PeakKernel<Sum>& kernel, double ops_a_lane) {
  if (kernel.run == nullptr) return 0;
  watch.look_up();
  return gop(kernel, best_rounds_per_second(kernel, choose_rounds(kernel), kOneSeconds),
             ops_a_lane);
}

/// Sets `fastest` to the kernel with the best rate on one thread, among kernels with different
/// numbers of chains; returns that rate.
template <class Sum, std::size_t n>
double find_fastest(Watch& watch, const std::array<PeakKernel<Sum>, n>& kernels, double ops_a_lane,
                    PeakKernel<Sum>& fastest) {
  double best = 0;
  for (const PeakKernel<Sum>& kernel : kernels) {
    const double gop_s = computed_by_one(watch, kernel, ops_a_lane);
    if (gop_s <= best) continue;
    best = gop_s;
    fastest = kernel;
  }
  return best;
}

/// The summed rate of all threads, which compute at the same time. Each thread counts with its own
/// best window: on a busy machine, no window may give every thread a whole CPU. 0 without a kernel.
template <class Sum>
double computed_by_all(Watch& watch, const PeakKernel<Sum>& kernel, double ops_a_lane) {
  if (kernel.run == nullptr) return 0;
  std::vector<double> each(to_size(watch.threads()));
  watch.run(watch.threads(), [&](std::int64_t thread) {
    at(each, thread) = best_rounds_per_second(kernel, choose_rounds(kernel), kAllSeconds);
  });
  return gop(kernel, std::accumulate(each.begin(), each.end(), 0.0), ops_a_lane);
}

/// Fills memory with words of 1, so that the sum over each chunk is known.
void fill(Watch& watch, Buffer& buffer) {
  watch.run(buffer.bytes() / kReadChunk, [&](std::int64_t item) {
    auto* words = reinterpret_cast<std::int32_t*>(buffer.data() + item * kReadChunk);
    std::fill_n(words, kReadChunk / 4, 1);
  });
}

/// Reads `part` of the memory again and again on the calling thread, for kReadSeconds but at least
/// `least` + 1 chunks. Returns the time at which each chunk had been read.
std::vector<double> read_round(const HostKernels& kernels, std::span<const std::byte> part,
                               std::size_t least) {
  constexpr std::size_t kChunksMax = 1 << 16;
  std::vector<double> ends;
  ends.reserve(kChunksMax);
  const std::size_t chunks = part.size() / kReadChunk;
  const double stop = steady_seconds() + kReadSeconds;
  for (std::size_t i = 0; i < kChunksMax && (i <= least || ends.back() < stop); ++i) {
    const std::int32_t sum = kernels.peak_read(part.data() + i % chunks * kReadChunk, kReadChunk);
    INGOT_CHECK(sum == kReadChunk / 4, "reading gave ", sum);
    ends.push_back(steady_seconds());
  }
  return ends;
}

/// The best pass of all threads over `all`, in 10^9 bytes per second. Each thread reads its own
/// part repeatedly.
double best_pass(Watch& watch, const HostKernels& kernels, std::span<const std::byte> all,
                 int of_threads) {
  const auto threads = to_size(of_threads);
  const std::size_t chunks = all.size() / kReadChunk;
  const std::size_t pass = std::max(chunks, threads * kPassChunksMin);
  const std::size_t part = std::max<std::size_t>(1, chunks / threads) * kReadChunk;
  std::vector<std::vector<double>> ends(threads);
  watch.run(of_threads, [&](std::int64_t thread) {
    const auto t = to_size(thread);
    ends[t] = read_round(kernels, all.subspan(t * part % all.size(), part), pass / threads);
  });
  for (std::size_t t = 1; t < threads; ++t) {
    ends[0].insert(ends[0].end(), ends[t].begin(), ends[t].end());
  }
  return best_rate(std::move(ends[0]), pass) * double{kReadChunk} / 1e9;
}

Peaks at_least(const Peaks& low, const Peaks& p) {
  return {.read_gb_s = std::max(low.read_gb_s, p.read_gb_s),
          .f32_gflop_s = std::max(low.f32_gflop_s, p.f32_gflop_s),
          .int8_gop_s = std::max(low.int8_gop_s, p.int8_gop_s),
          .bf16_gflop_s = std::max(low.bf16_gflop_s, p.bf16_gflop_s),
          .int8_tiles_gop_s = std::max(low.int8_tiles_gop_s, p.int8_tiles_gop_s)};
}

std::span<const std::byte> bytes_of(const Buffer& buffer) {
  return {buffer.data(), to_size(buffer.bytes())};
}

/// The number of threads to use: at most one per CPU.
int threads_for(int threads, const std::vector<std::size_t>& cpus) {
  return std::min(threads, std::max(1, static_cast<int>(cpus.size())));
}

/// Threads that are bound to CPUs: otherwise two threads may share a CPU for a while on a busy
/// machine, and miss its limits.
ThreadPool bound_threads(int threads, const std::vector<std::size_t>& cpus) {
  return ThreadPool(threads, {.pin = true, .cpus = cpus});
}

}  // namespace

std::int64_t peak_read_bytes(std::int64_t available_bytes) {
  const std::int64_t share = available_bytes / 4 / kReadChunk * kReadChunk;
  return std::clamp(share, kReadChunk, kReadBytesMax);
}

PeakMeter::PeakMeter(int threads, std::vector<std::size_t> cpus, const HostKernels& kernels,
                     std::int64_t read_bytes, std::function<void()> between)
    : threads_(threads_for(threads, cpus)),
      cpus_(std::move(cpus)),
      kernels_(kernels),
      between_(std::move(between)),
      buffer_(allocate_host(read_bytes)) {}

MeasuredPeaks PeakMeter::measure() {
  {
    ThreadPool pool = bound_threads(threads_, cpus_);
    Watch watch(pool, between_);
    one_thread_.int8_gop_s = find_fastest(watch, kernels_.peak_int8, kInt8OpsALane, int8_);
    one_thread_.f32_gflop_s = find_fastest(watch, kernels_.peak_f32, kF32OpsALane, f32_);
    one_thread_.bf16_gflop_s = computed_by_one(watch, kernels_.peak_bf16, kBf16OpsALane);
    one_thread_.int8_tiles_gop_s =
        computed_by_one(watch, kernels_.peak_int8_tiles, kInt8TileOpsALane);
    fill(watch, buffer_);
    one_thread_.read_gb_s = best_pass(watch, kernels_, bytes_of(buffer_), 1);
  }
  return {.one_thread = one_thread_,
          .all_threads = measure_again(),
          .threads = threads_,
          .read_bytes = buffer_.bytes()};
}

Peaks PeakMeter::measure_again() const {
  INGOT_CHECK(int8_.run != nullptr && f32_.run != nullptr, "measured again before anything was");
  ThreadPool pool = bound_threads(threads_, cpus_);
  Watch watch(pool, between_);
  const Peaks all{
      .read_gb_s = best_pass(watch, kernels_, bytes_of(buffer_), watch.threads()),
      .f32_gflop_s = computed_by_all(watch, f32_, kF32OpsALane),
      .int8_gop_s = computed_by_all(watch, int8_, kInt8OpsALane),
      .bf16_gflop_s = computed_by_all(watch, kernels_.peak_bf16, kBf16OpsALane),
      .int8_tiles_gop_s = computed_by_all(watch, kernels_.peak_int8_tiles, kInt8TileOpsALane)};
  // Threads that share a CPU may reach less together than one thread reached alone before.
  return at_least(one_thread_, all);
}

double best_rate(std::vector<double> ends, std::size_t window) {
  std::sort(ends.begin(), ends.end());
  double best = 0;
  for (std::size_t i = 0; i + window < ends.size(); ++i) {
    best = std::max(best, static_cast<double>(window) / (ends[i + window] - ends[i]));
  }
  return best;
}

double ideal_seconds(const StepCost& cost, const Peaks& peaks) {
  const double reading = cost.bytes / (peaks.read_gb_s * 1e9);
  const double computing = cost.int8_ops / (peaks.int8_gop_s * 1e9) +
                           cost.f32_ops / (peaks.f32_gflop_s * 1e9) +
                           cost.bf16_ops / (peaks.limit_of_bf16() * 1e9);
  return std::max(reading, computing);
}

}  // namespace ingot
