// The ladder of `linear`: every kernel table, format and number of rows, each with the digest of
// its output.
//
// A step up the ladder counts only when the digest beside it stays the same.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/half.h"
#include "base/text.h"
#include "bench_util.h"
#include "quant/formats.h"

namespace ingot::bench {
namespace {

constexpr std::int64_t kOutputs = 4096;
constexpr std::int64_t kInputs = 1024;

/// Random weights of a format: any bits are valid codes, the blocks' scales are set small.
template <class F>
std::vector<std::byte> random_weights() {
  std::mt19937 rng(1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(kOutputs * row_bytes(F::kFormat, kInputs)));
  if constexpr (BlockFormat<F>) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(typename F::Block)) {
      typename F::Block block;
      for (std::byte& b : std::as_writable_bytes(std::span(&block, 1))) b = std::byte(rng());
      if constexpr (requires { block.d; }) block.d = float_to_half(0.01f);
      if constexpr (requires { block.m; }) block.m = float_to_half(0.01f);
      if constexpr (requires { block.dmin; }) block.dmin = float_to_half(0.01f);
      if constexpr (requires { block.e; }) block.e = 120;
      __builtin_memcpy(bytes.data() + i, &block, sizeof block);
    }
  } else {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(typename F::Element)) {
      const auto e = F::narrow(std::normal_distribution<float>()(rng));
      __builtin_memcpy(bytes.data() + i, &e, sizeof e);
    }
  }
  return bytes;
}

std::vector<float> random_rows(std::int64_t rows) {
  std::mt19937 rng(2);
  std::vector<float> in(static_cast<std::size_t>(rows * kInputs));
  for (float& x : in) x = std::normal_distribution<float>()(rng);
  return in;
}

template <class F>
void run_linear(benchmark::State& state, const KernelTable& table, std::int64_t rows) {
  ThreadPool pool(1);
  CpuBackend backend(pool, table);
  backend.plan({.rows = static_cast<std::int32_t>(rows), .cols = kInputs});
  auto bytes = random_weights<F>();
  const View matrix{bytes.data(), F::kFormat, kOutputs, kInputs, row_bytes(F::kFormat, kInputs)};
  const Weight weight = backend.prepare({&matrix, 1}, {}, Use::kPlain);
  std::vector<float> in = random_rows(rows);
  std::vector<float> out(static_cast<std::size_t>(rows * kOutputs));
  for (auto _ : state) {
    backend.linear(f32_view(in.data(), rows, kInputs), weight,
                   f32_view(out.data(), rows, kOutputs));
  }
  state.SetLabel(digest_of(out));
  const auto calls = static_cast<double>(state.iterations());
  using benchmark::Counter;
  state.counters["GOP/s"] =
      Counter(calls * 2 * static_cast<double>(rows * kOutputs * kInputs) / 1e9, Counter::kIsRate);
  state.counters["GB/s"] =
      Counter(calls * static_cast<double>(weight.storage.bytes()) / 1e9, Counter::kIsRate);
}

/// Matrices of one shape that together exceed the caches, so that a row finds none of them there.
std::vector<Weight> copies_of(CpuBackend& backend, const View& matrix, std::int64_t total_bytes) {
  std::vector<Weight> copies;
  for (std::int64_t bytes = 0; copies.empty() || bytes < total_bytes;) {
    copies.push_back(backend.prepare({&matrix, 1}, {}, Use::kPlain));
    bytes += copies.back().storage.bytes();
  }
  return copies;
}

/// Rows up to which a linear's limit may be reading its weights, on any machine.
constexpr std::int64_t kReadingRows = 64;

/// Seconds that `work` takes at the peak of the operations that a format is multiplied with.
template <class F>
double seconds_at_peak(const KernelTable& table, double work) {
  const Peaks& peaks = peaks_of(table);
  const double rate = BlockFormat<F>            ? peaks.int8_gop_s
                      : std::is_same_v<F, BF16> ? peaks.limit_of_bf16()
                                                : peaks.f32_gflop_s;
  return work / 1e9 / rate;
}

/// The share of the machine's limit on all CPUs: the operations at their peak, or what reading as
/// many bytes takes where that is longer, by the medians of windows of some 30 MB that are computed
/// and read in turn, so that other processes of the machine disturb both. The bytes read are one
/// piece of memory in large pages, without a step from matrix to matrix.
template <class F>
void run_limit(benchmark::State& state, const KernelTable& table, std::int64_t rows) {
  ThreadPool pool(available_cpus());
  CpuBackend backend(pool, table);
  backend.plan({.rows = static_cast<std::int32_t>(rows), .cols = kInputs});
  auto bytes = random_weights<F>();
  const View matrix{bytes.data(), F::kFormat, kOutputs, kInputs, row_bytes(F::kFormat, kInputs)};
  const bool reads = rows <= kReadingRows;
  const std::vector<Weight> weights = copies_of(backend, matrix, reads ? std::int64_t{1} << 29 : 0);
  const auto bytes_of_one = static_cast<std::size_t>(weights[0].storage.bytes());
  const std::size_t window = std::min(weights.size(), std::size_t{32 << 20} / bytes_of_one + 1);
  const Buffer block =
      readable_block(reads ? static_cast<std::int64_t>(weights.size() * bytes_of_one) : 0);
  std::vector<float> in = random_rows(rows);
  const Buffer memory = allocate_host(rows * kOutputs * std::int64_t{sizeof(float)});
  const std::span out(reinterpret_cast<float*>(memory.data()),
                      static_cast<std::size_t>(rows * kOutputs));
  const auto compute = [&](std::span<const Weight> some) {
    for (const Weight& w : some) {
      backend.linear(f32_view(in.data(), rows, kInputs), w, f32_view(out.data(), rows, kOutputs));
    }
  };
  std::vector<double> reading{0};
  std::vector<double> computing;
  std::size_t at = 0;
  for (auto _ : state) {
    at = at + 2 * window > weights.size() ? 0 : at + window;
    if (reads) {
      const std::span part(block.data() + at * bytes_of_one, window * bytes_of_one);
      reading.push_back(seconds_of([&] { read_all(pool, table, part); }));
    }
    computing.push_back(seconds_of([&] { compute(std::span(weights).subspan(at, window)); }));
    state.SetIterationTime(computing.back());
  }
  state.SetLabel(digest_of(out));
  if (reads) reading.erase(reading.begin());
  const double window_bytes = static_cast<double>(window) * static_cast<double>(bytes_of_one);
  const double outputs = static_cast<double>(window) * static_cast<double>(rows * kOutputs);
  const double at_peak = seconds_at_peak<F>(table, outputs * 2 * kInputs);
  state.counters["GB/s"] = window_bytes / 1e9 / median(computing);
  state.counters["of_read"] = median(reading) / median(computing);
  state.counters["of_peak"] = at_peak / median(computing);
  state.counters["of_limit"] = std::max(at_peak, median(reading)) / median(computing);
}

/// Registered by name so that --benchmark_filter picks a table, a format or a number of rows.
const bool registered = [] {
  for (const KernelTable* table : kernel_tables()) {
    for_each_type(Formats{}, [&]<class F>() {
      for (const std::int64_t rows : {1, 2, 4, 8, 16, 64}) {
        benchmark::RegisterBenchmark(
            cat("linear/", std::string_view(table->name), "/", F::kName, "/rows:", rows).c_str(),
            [table, rows](benchmark::State& state) { run_linear<F>(state, *table, rows); });
      }
      for (const std::int64_t rows : {1, 2, 4, 8, 16, 32, 512}) {
        benchmark::RegisterBenchmark(
            cat("limit/", std::string_view(table->name), "/", F::kName, "/rows:", rows).c_str(),
            [table, rows](benchmark::State& state) { run_limit<F>(state, *table, rows); })
            ->UseManualTime();
      }
    });
  }
  return true;
}();

}  // namespace
}  // namespace ingot::bench
