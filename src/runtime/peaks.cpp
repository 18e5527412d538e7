// Measuring peaks: short windows of known work and whole passes over memory, the best of each.
#include "runtime/peaks.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backend/buffer.h"
#include "base/check.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"

namespace ingot {

namespace {

constexpr std::int64_t kReadChunk = 256 << 10;
constexpr std::int64_t kReadBytesMax = std::int64_t{1} << 30;

/// Long beside the clock's own time, short beside the time slices of neighbours.
constexpr double kWindowSeconds = 0.001;
/// Lanes that grow by one a round stay exact, in floats and in the sum of all of them.
constexpr std::int64_t kRoundsMax = std::int64_t{1} << 22;
constexpr int kLanes = 16;
/// Operations of a round in each lane of a chain.
constexpr double kInt8OpsALane = 8;
constexpr double kF32OpsALane = 2;
/// For so long windows are tried.
constexpr double kOneSeconds = 0.05;
constexpr double kAllSeconds = 0.1;
constexpr double kReadSeconds = 0.2;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A round adds 1 to every lane: 1 - 1 + 2 - 1 over each four bytes, 1 * 1 in floats.
PeakOperands unit_operands() {
  PeakOperands operands;
  std::fill(std::begin(operands.u), std::end(operands.u), std::uint8_t{1});
  std::fill(std::begin(operands.w), std::end(operands.w), 1.0f);
  std::fill(std::begin(operands.f), std::end(operands.f), 1.0f);
  constexpr std::int8_t kFour[] = {1, -1, 2, -1};
  for (std::size_t i = 0; i < std::size(operands.x); ++i) operands.x[i] = kFour[i % 4];
  return operands;
}

/// Threads to measure with, and whom to ask in between whether to go on.
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

/// Rounds of one kernel a second on the calling thread, in one window.
template <class Sum>
double rounds_per_second(const PeakKernel<Sum>& kernel, std::int64_t rounds) {
  const PeakOperands operands = unit_operands();
  const double start = now_seconds();
  const Sum sum = kernel.run(rounds, operands);
  const double seconds = now_seconds() - start;
  INGOT_CHECK(sum == static_cast<Sum>(rounds * kernel.chains * kLanes), "a peak kernel of ",
              kernel.chains, " chains gave ", sum, " after ", rounds, " rounds");
  return static_cast<double>(rounds) / seconds;
}

/// The best window within `seconds`.
template <class Sum>
double best_rounds_per_second(const PeakKernel<Sum>& kernel, std::int64_t rounds, double seconds) {
  const double end = now_seconds() + seconds;
  double best = 0;
  do {
    best = std::max(best, rounds_per_second(kernel, rounds));
  } while (now_seconds() < end);
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

/// Operations a second of rounds of `kernel`, in units of 10^9.
template <class Sum>
double gop(const PeakKernel<Sum>& kernel, double rounds, double ops_a_lane) {
  return ops_a_lane * kernel.chains * kLanes * rounds / 1e9;
}

/// Of kernels that differ in chains, puts the one that is best on one thread into `fastest`;
/// returns its rate.
template <class Sum, std::size_t n>
double find_fastest(Watch& watch, const std::array<PeakKernel<Sum>, n>& kernels, double ops_a_lane,
                    PeakKernel<Sum>& fastest) {
  double best = 0;
  for (const PeakKernel<Sum>& kernel : kernels) {
    watch.look_up();
    const double rounds = best_rounds_per_second(kernel, choose_rounds(kernel), kOneSeconds);
    const double gop_s = gop(kernel, rounds, ops_a_lane);
    if (gop_s <= best) continue;
    best = gop_s;
    fastest = kernel;
  }
  return best;
}

/// The rate of all threads, which compute at the same time. Each one's best window counts: on a
/// busy machine there may be none in which every one of them has a CPU to itself.
template <class Sum>
double computed_by_all(Watch& watch, const PeakKernel<Sum>& kernel, double ops_a_lane) {
  std::vector<double> each(static_cast<std::size_t>(watch.threads()));
  watch.run(watch.threads(), [&](std::int64_t thread) {
    each[static_cast<std::size_t>(thread)] =
        best_rounds_per_second(kernel, choose_rounds(kernel), kAllSeconds);
  });
  return gop(kernel, std::accumulate(each.begin(), each.end(), 0.0), ops_a_lane);
}

/// Words of 1, so that the sum of what was read is known.
Buffer filled(Watch& watch, std::int64_t bytes) {
  Buffer buffer = allocate_host(bytes);
  watch.run(bytes / kReadChunk, [&](std::int64_t item) {
    auto* words = reinterpret_cast<std::int32_t*>(buffer.data() + item * kReadChunk);
    std::fill_n(words, kReadChunk / 4, 1);
  });
  return buffer;
}

/// When each chunk had been read, by one thread that goes round its part of the memory, once at
/// least.
std::vector<double> read_round(const KernelTable& table, std::span<const std::byte> part) {
  constexpr std::size_t kChunksMax = 1 << 16;
  std::vector<double> ends;
  ends.reserve(kChunksMax);
  const std::size_t chunks = part.size() / kReadChunk;
  const double stop = now_seconds() + kReadSeconds;
  for (std::size_t i = 0; i < kChunksMax && (i <= chunks || ends.back() < stop); ++i) {
    const std::int32_t sum = table.peak_read(part.data() + i % chunks * kReadChunk, kReadChunk);
    INGOT_CHECK(sum == kReadChunk / 4, "reading gave ", sum);
    ends.push_back(now_seconds());
  }
  return ends;
}

/// The best rate over as many of them as make [bytes], one after the other, from when chunks of any
/// thread had been read.
double best_read(std::vector<double> ends, std::int64_t bytes) {
  std::sort(ends.begin(), ends.end());
  const auto chunks = static_cast<std::size_t>(bytes / kReadChunk);
  double best = 0;
  for (std::size_t i = 0; i + chunks < ends.size(); ++i) {
    const double seconds = ends[i + chunks] - ends[i];
    best = std::max(best, static_cast<double>(chunks * kReadChunk) / seconds / 1e9);
  }
  return best;
}

std::span<const std::byte> bytes_of(const Buffer& buffer, std::int64_t bytes) {
  return {buffer.data(), static_cast<std::size_t>(bytes)};
}

/// One thread's passes over [bytes] of a buffer.
double read_by_one(const KernelTable& table, const Buffer& buffer, std::int64_t bytes) {
  return best_read(read_round(table, bytes_of(buffer, bytes)), bytes);
}

/// All threads, each going round a part of [bytes] of a buffer: passes of as much as all of it.
double read_by_all(Watch& watch, const KernelTable& table, const Buffer& buffer,
                   std::int64_t bytes) {
  const std::span<const std::byte> all = bytes_of(buffer, bytes);
  const auto threads = static_cast<std::size_t>(watch.threads());
  const std::size_t chunks = all.size() / kReadChunk;
  const std::size_t part = std::max<std::size_t>(1, chunks / threads) * kReadChunk;
  std::vector<std::vector<double>> ends(threads);
  watch.run(watch.threads(), [&](std::int64_t thread) {
    const auto t = static_cast<std::size_t>(thread);
    ends[t] = read_round(table, all.subspan(t * part % all.size(), part));
  });
  for (std::size_t t = 1; t < ends.size(); ++t) {
    ends[0].insert(ends[0].end(), ends[t].begin(), ends[t].end());
  }
  return best_read(std::move(ends[0]), bytes);
}

Peaks peaks_of_all(Watch& watch, const KernelTable& table, const PeakKernel<std::int32_t>& int8,
                   const PeakKernel<float>& f32, const Buffer& buffer, std::int64_t bytes) {
  return {.read_gb_s = read_by_all(watch, table, buffer, bytes),
          .f32_gflop_s = computed_by_all(watch, f32, kF32OpsALane),
          .int8_gop_s = computed_by_all(watch, int8, kInt8OpsALane)};
}

Peaks at_least(const Peaks& low, const Peaks& p) {
  return {.read_gb_s = std::max(low.read_gb_s, p.read_gb_s),
          .f32_gflop_s = std::max(low.f32_gflop_s, p.f32_gflop_s),
          .int8_gop_s = std::max(low.int8_gop_s, p.int8_gop_s)};
}

/// Bound to CPUs: on a busy machine two threads may share one for a while, and not reach its
/// limits.
ThreadPool bound_threads(int threads, const std::vector<std::size_t>& cpus) {
  const int each_its_own = std::max(1, static_cast<int>(cpus.size()));
  return ThreadPool(std::min(threads, each_its_own), {.pin = true, .cpus = cpus});
}

}  // namespace

std::int64_t peak_read_bytes(std::int64_t available_bytes) {
  const std::int64_t share = available_bytes / 4 / kReadChunk * kReadChunk;
  return std::clamp(share, kReadChunk, kReadBytesMax);
}

PeakMeter::PeakMeter(int threads, std::vector<std::size_t> cpus, const KernelTable& table,
                     std::int64_t read_bytes, std::function<void()> between)
    : threads_(threads),
      cpus_(std::move(cpus)),
      table_(table),
      read_bytes_(read_bytes),
      between_(std::move(between)) {}

MeasuredPeaks PeakMeter::measure() {
  ThreadPool pool = bound_threads(threads_, cpus_);
  Watch watch(pool, between_);
  Peaks one;
  one.int8_gop_s = find_fastest(watch, table_.peak_int8, kInt8OpsALane, int8_);
  one.f32_gflop_s = find_fastest(watch, table_.peak_f32, kF32OpsALane, f32_);
  const Buffer buffer = filled(watch, read_bytes_);
  watch.look_up();
  one.read_gb_s = read_by_one(table_, buffer, read_bytes_);
  // Threads that share one CPU reach less together than one that had it to itself a moment before.
  const Peaks all = at_least(one, peaks_of_all(watch, table_, int8_, f32_, buffer, read_bytes_));
  return {.one_thread = one, .all_threads = all, .threads = pool.size(), .read_bytes = read_bytes_};
}

Peaks PeakMeter::measure_again() const {
  ThreadPool pool = bound_threads(threads_, cpus_);
  Watch watch(pool, between_);
  const Buffer buffer = filled(watch, read_bytes_);
  return peaks_of_all(watch, table_, int8_, f32_, buffer, read_bytes_);
}

double ideal_seconds(const StepCost& cost, const Peaks& peaks) {
  const double reading = cost.bytes / (peaks.read_gb_s * 1e9);
  const double computing =
      cost.int8_ops / (peaks.int8_gop_s * 1e9) + cost.f32_ops / (peaks.f32_gflop_s * 1e9);
  return std::max(reading, computing);
}

}  // namespace ingot
