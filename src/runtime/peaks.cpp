// Measuring peaks: short windows of known work, of which the best counts.
#include "runtime/peaks.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backend/buffer.h"
#include "base/check.h"

namespace ingot {

namespace {

constexpr std::int64_t kReadChunk = 256 << 10;
constexpr std::int64_t kReadBytesMax = std::int64_t{1} << 30;

/// Long beside the clock's own time, short beside the time slices of neighbours.
constexpr double kWindowSeconds = 0.001;
/// Lanes that grow by one a round stay exact, in floats and in the sum of all of them.
constexpr std::int64_t kRoundsMax = std::int64_t{1} << 22;
constexpr int kLanes = 16;
/// For so long windows are tried.
constexpr double kOneSeconds = 0.08;
constexpr double kAllSeconds = 0.25;
constexpr double kReadSeconds = 0.4;
/// Of those that a thread reads one after the other, so many make a window: about a millisecond.
constexpr std::size_t kWindowChunks = 48;

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
  Watch(ThreadPool& pool, FunctionRef<void()> between) : pool_(pool), between_(between) {}

  int threads() const { return pool_.size(); }
  void look_up() { between_(); }
  /// Runs body(item) for each item on all threads.
  void run(std::int64_t items, FunctionRef<void(std::int64_t)> body) {
    between_();
    pool_.parallel_for(items, [&](std::int64_t item, int) { body(item); });
  }

 private:
  ThreadPool& pool_;
  FunctionRef<void()> between_;
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

/// Operations a second, in units of 10^9, of one thread and of all.
struct Rate {
  double one = 0;
  double all = 0;
};

/// Of the kernels that differ in chains, the one that is best on one thread. All threads compute at
/// the same time, and each one's best window counts: on a busy machine there may be none in which
/// every one of them has a CPU to itself.
template <class Sum, std::size_t n>
Rate measure_kernels(Watch& watch, const std::array<PeakKernel<Sum>, n>& kernels,
                     double ops_a_lane) {
  Rate rate;
  const PeakKernel<Sum>* best = nullptr;
  std::int64_t best_rounds = 0;
  const auto gop = [&](const PeakKernel<Sum>& k) { return ops_a_lane * k.chains * kLanes / 1e9; };
  for (const PeakKernel<Sum>& kernel : kernels) {
    watch.look_up();
    const std::int64_t rounds = choose_rounds(kernel);
    const double one = gop(kernel) * best_rounds_per_second(kernel, rounds, kOneSeconds);
    if (one <= rate.one) continue;
    rate.one = one;
    best = &kernel;
    best_rounds = rounds;
  }
  std::vector<double> each(static_cast<std::size_t>(watch.threads()));
  watch.run(watch.threads(), [&](std::int64_t thread) {
    each[static_cast<std::size_t>(thread)] =
        best_rounds_per_second(*best, best_rounds, kAllSeconds);
  });
  // Threads that share one CPU reach less together than one that had it to itself a moment before.
  rate.all = std::max(rate.one, gop(*best) * std::accumulate(each.begin(), each.end(), 0.0));
  return rate;
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

/// When each chunk had been read, by one thread that goes round its part of the memory.
std::vector<double> read_round(const KernelTable& table, std::span<const std::byte> part) {
  constexpr std::size_t kChunksMax = 1 << 16;
  std::vector<double> ends;
  ends.reserve(kChunksMax);
  const auto chunks = static_cast<std::int64_t>(part.size()) / kReadChunk;
  const double stop = now_seconds() + kReadSeconds;
  for (std::int64_t i = 0; ends.size() < kChunksMax && (i < 2 || ends.back() < stop); ++i) {
    const std::int32_t sum = table.peak_read(part.data() + i % chunks * kReadChunk, kReadChunk);
    INGOT_CHECK(sum == kReadChunk / 4, "reading gave ", sum);
    ends.push_back(now_seconds());
  }
  return ends;
}

/// The best rate over kWindowChunks a thread, or over all where there was no time for so many, from
/// when chunks of any thread had been read.
double best_read(std::vector<double> ends, int threads) {
  std::sort(ends.begin(), ends.end());
  const std::size_t window =
      std::min(static_cast<std::size_t>(threads) * kWindowChunks, ends.size() - 1);
  double best = 0;
  for (std::size_t i = 0; i + window < ends.size(); ++i) {
    const double seconds = ends[i + window] - ends[i];
    best = std::max(best, static_cast<double>(window * kReadChunk) / seconds / 1e9);
  }
  return best;
}

Rate measure_read(Watch& watch, const KernelTable& table, std::int64_t bytes) {
  const Buffer buffer = filled(watch, bytes);
  const std::span<const std::byte> all(buffer.data(), static_cast<std::size_t>(bytes));
  watch.look_up();
  Rate rate{.one = best_read(read_round(table, all), 1), .all = 0};
  const int threads = watch.threads();
  const auto part =
      static_cast<std::size_t>(std::max(kReadChunk, bytes / kReadChunk / threads * kReadChunk));
  std::vector<std::vector<double>> ends(static_cast<std::size_t>(threads));
  watch.run(threads, [&](std::int64_t thread) {
    const auto t = static_cast<std::size_t>(thread);
    ends[t] = read_round(table, all.subspan(t * part % all.size(), part));
  });
  for (std::size_t t = 1; t < ends.size(); ++t) {
    ends[0].insert(ends[0].end(), ends[t].begin(), ends[t].end());
  }
  rate.all = std::max(rate.one, best_read(std::move(ends[0]), threads));
  return rate;
}

}  // namespace

std::int64_t peak_read_bytes(std::int64_t available_bytes) {
  const std::int64_t share = available_bytes / 4 / kReadChunk * kReadChunk;
  return std::clamp(share, kReadChunk, kReadBytesMax);
}

MeasuredPeaks measure_peaks(int threads, const std::vector<std::size_t>& cpus,
                            const KernelTable& table, std::int64_t read_bytes,
                            FunctionRef<void()> between) {
  // Bound to CPUs: on a busy machine two threads may share one for a while, and not reach its
  // limits.
  const int each_its_own = std::max(1, static_cast<int>(cpus.size()));
  ThreadPool pool(std::min(threads, each_its_own), {.pin = true, .cpus = cpus});
  Watch watch(pool, between);
  const Rate int8 = measure_kernels(watch, table.peak_int8, 8);
  const Rate f32 = measure_kernels(watch, table.peak_f32, 2);
  const Rate read = measure_read(watch, table, read_bytes);
  return {.one_thread = {.read_gb_s = read.one, .f32_gflop_s = f32.one, .int8_gop_s = int8.one},
          .all_threads = {.read_gb_s = read.all, .f32_gflop_s = f32.all, .int8_gop_s = int8.all},
          .threads = pool.size(),
          .read_bytes = read_bytes};
}

double ideal_seconds(const StepCost& cost, const Peaks& peaks) {
  const double reading = cost.bytes / (peaks.read_gb_s * 1e9);
  const double computing =
      cost.int8_ops / (peaks.int8_gop_s * 1e9) + cost.f32_ops / (peaks.f32_gflop_s * 1e9);
  return std::max(reading, computing);
}

}  // namespace ingot
