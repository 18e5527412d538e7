// Peak kernels do the work that they are counted for, and ideal times follow from them.
#include "bench/peaks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backends.h"
#include "backend/buffer.h"
#include "base/half.h"
#include "base/thread_pool.h"

namespace ingot {
namespace {

PeakOperands different_operands() {
  PeakOperands operands;
  int i = 0;
  for (std::uint8_t& u : operands.u) u = static_cast<std::uint8_t>(37 * i++ % 128);
  for (std::int8_t& x : operands.x) x = static_cast<std::int8_t>(53 * i++);
  for (float& w : operands.w) w = static_cast<float>(i++ % 17 - 8);
  for (float& f : operands.f) f = static_cast<float>(i++ % 5 - 2);
  for (std::int8_t& x : operands.tile_x) x = static_cast<std::int8_t>(29 * i++);
  for (std::uint16_t& w : operands.tile_w) {
    w = float_to_bfloat16(static_cast<float>(i++ % 17 - 8));
  }
  for (std::uint16_t& f : operands.tile_f) f = float_to_bfloat16(static_cast<float>(i++ % 5 - 2));
  return operands;
}

/// The accumulators of a kernel as it is documented: rows times columns of weights.
struct Shape {
  int rows;
  int cols;
};

Shape shape_of(int chains) { return chains == 12 ? Shape{4, 3} : Shape{chains, 1}; }

TEST(PeakKernels, DotProductsAddUpOverChainsLanesAndRounds) {
  const PeakOperands o = different_operands();
  for (const HostKernels* kernels : host_kernels()) {
    for (const auto& kernel : kernels->peak_int8) {
      const Shape shape = shape_of(kernel.chains);
      std::int32_t a_round = 0;
      for (int r = 0; r < shape.rows; ++r) {
        for (int i = 0; i < 64 * shape.cols; ++i) a_round += o.u[i] * o.x[4 * r + i % 4];
      }
      EXPECT_EQ(kernel.run(7, o), 7 * a_round) << kernels->name << " " << kernel.chains;
      EXPECT_EQ(kernel.run(0, o), 0) << kernels->name << " " << kernel.chains;
    }
  }
}

TEST(PeakKernels, MultiplyAddsAddUpOverChainsLanesAndRounds) {
  const PeakOperands o = different_operands();
  for (const HostKernels* kernels : host_kernels()) {
    for (const auto& kernel : kernels->peak_f32) {
      const Shape shape = shape_of(kernel.chains);
      float a_round = 0;  // small whole numbers: exact
      for (int r = 0; r < shape.rows; ++r) {
        for (int i = 0; i < 16 * shape.cols; ++i) a_round += o.w[i] * o.f[r];
      }
      EXPECT_EQ(kernel.run(7, o), 7 * a_round) << kernels->name << " " << kernel.chains;
      EXPECT_EQ(kernel.run(0, o), 0.0f) << kernels->name << " " << kernel.chains;
    }
  }
}

/// Sums of a row of activations, 4 or 2 for each output, with the weights of 16 outputs.
std::int32_t int8_of_tile(const PeakOperands& o) {
  std::int32_t sum = 0;
  for (int c = 0; c < 16; ++c) {
    for (int i = 0; i < 64; ++i) sum += o.tile_x[i] * o.u[4 * c + i % 4];
  }
  return sum;
}

float bf16_of_tile(const PeakOperands& o) {
  float sum = 0;  // small whole numbers: exact
  for (int c = 0; c < 16; ++c) {
    for (int i = 0; i < 32; ++i) {
      sum += bfloat16_to_float(o.tile_f[i]) * bfloat16_to_float(o.tile_w[2 * c + i % 2]);
    }
  }
  return sum;
}

TEST(PeakKernels, ProductsOfTilesAndPairsAddUpOverChainsLanesAndRounds) {
  const PeakOperands o = different_operands();
  for (const HostKernels* kernels : host_kernels()) {
    SCOPED_TRACE(kernels->name);
    const auto& int8 = kernels->peak_int8_tiles;
    const auto& bf16 = kernels->peak_bf16;
    const std::string_view name = kernels->name;
    ASSERT_EQ(int8.run != nullptr, name == "avx512-amx");
    ASSERT_EQ(bf16.run != nullptr, name == "avx512-amx" || name == "avx512-bf16");
    if (int8.run != nullptr) {
      EXPECT_EQ(int8.run(7, o), 7 * int8.chains * int8_of_tile(o));
      EXPECT_EQ(int8.run(0, o), 0);
    }
    if (bf16.run == nullptr) continue;
    EXPECT_EQ(bf16.run(7, o), 7 * static_cast<float>(bf16.chains) * bf16_of_tile(o));
    EXPECT_EQ(bf16.run(0, o), 0.0f);
  }
}

constexpr double Peaks::*kRates[] = {&Peaks::read_gb_s, &Peaks::f32_gflop_s, &Peaks::int8_gop_s};

TEST(PeakKernels, EveryWordIsRead) {
  const Buffer buffer = allocate_host(4096);
  std::int32_t words[1024];
  for (int i = 0; i < 1024; ++i) words[i] = 1 << (i % 20);
  std::int32_t sum = 0;
  for (const std::int32_t word : words) sum += word;
  std::memcpy(buffer.data(), words, sizeof words);
  for (const HostKernels* kernels : host_kernels()) {
    EXPECT_EQ(kernels->peak_read(buffer.data(), 4096), sum) << kernels->name;
    EXPECT_EQ(kernels->peak_read(buffer.data(), 0), 0) << kernels->name;
  }
}

TEST(Peaks, ReadingTakesAShareOfMemoryWithinBounds) {
  EXPECT_EQ(peak_read_bytes(0), 256 << 10);
  EXPECT_EQ(peak_read_bytes((512 << 20) + 12345), 128 << 20);
  EXPECT_EQ(peak_read_bytes(std::int64_t{1} << 50), 1 << 30);
}

TEST(Peaks, AreMeasuredForOneThreadAndForAll) {
  int windows = 0;
  const MeasuredPeaks peaks =
      PeakMeter(2, allowed_cpus(), find_host_kernels("scalar"), 32 << 20, [&] {
        ++windows;
      }).measure();
  EXPECT_GE(windows, 9);
  EXPECT_EQ(peaks.read_bytes, 32 << 20);
  for (const double Peaks::*rate : kRates) {
    EXPECT_GT(peaks.one_thread.*rate, 0);
    EXPECT_GE(peaks.all_threads.*rate, peaks.one_thread.*rate);
  }
  EXPECT_EQ(peaks.all_threads.bf16_gflop_s, 0);
  EXPECT_EQ(peaks.all_threads.int8_tiles_gop_s, 0);
}

/// Kernels of tiles in plain C++, with two chains.
constexpr int kFakeChains = 2;

std::int32_t fake_int8_tiles(std::int64_t rounds, const PeakOperands& o) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < rounds; ++i) sum += kFakeChains * int8_of_tile(o);
  return sum;
}

float fake_bf16(std::int64_t rounds, const PeakOperands& o) {
  float sum = 0;
  for (std::int64_t i = 0; i < rounds; ++i) sum += kFakeChains * bf16_of_tile(o);
  return sum;
}

TEST(Peaks, TilesAreMeasuredWhereATableHasThem) {
  HostKernels kernels = find_host_kernels("scalar");
  kernels.peak_int8_tiles = {.chains = kFakeChains, .run = fake_int8_tiles};
  kernels.peak_bf16 = {.chains = kFakeChains, .run = fake_bf16};
  PeakMeter meter(2, allowed_cpus(), kernels, 1 << 20, [] {});
  const MeasuredPeaks first = meter.measure();
  const Peaks again = meter.measure_again();
  for (const auto rate : {&Peaks::bf16_gflop_s, &Peaks::int8_tiles_gop_s}) {
    EXPECT_GT(first.one_thread.*rate, 0);
    EXPECT_GE(first.all_threads.*rate, first.one_thread.*rate);
    EXPECT_GE(again.*rate, first.one_thread.*rate);
  }
}

TEST(Peaks, AreThoseOfAllThreadsWhereTheCallerIsBound) {
  const int cpus = available_cpus();
  const ThreadPool bound(cpus, {.pin = true});
  ASSERT_EQ(available_cpus(), 1);
  for (const int threads : {bound.size(), cpus + 1}) {
    PeakMeter meter(threads, bound.cpus(), find_host_kernels("scalar"), 1 << 20, [] {});
    EXPECT_EQ(meter.measure().threads, cpus);
  }
}

TEST(Peaks, AreMeasuredAgainWithTheKernelsFoundFirst) {
  int parts = 0;
  PeakMeter meter(2, allowed_cpus(), find_host_kernels("scalar"), 1 << 20, [&] { ++parts; });
  const MeasuredPeaks first = meter.measure();
  const int parts_first = parts;
  const Peaks again = meter.measure_again();
  EXPECT_EQ(parts - parts_first, 3);  // reading, floats and bytes
  for (const double Peaks::*rate : kRates) EXPECT_GE(again.*rate, first.one_thread.*rate);
}

TEST(Peaks, APassOfLittleMemoryIsNoShorterThanAWindow) {
  // 5 chunks of two threads, one of three: what two of them end at the same moment is no pass.
  for (const auto& [threads, bytes] : {std::pair{2, 5 << 18}, std::pair{3, 1 << 18}}) {
    const std::vector<std::size_t> cpus(static_cast<std::size_t>(threads), allowed_cpus().front());
    PeakMeter meter(threads, cpus, find_host_kernels("scalar"), bytes, [] {});
    const MeasuredPeaks peaks = meter.measure();
    EXPECT_EQ(peaks.threads, threads);
    EXPECT_LT(peaks.all_threads.read_gb_s, 1e4);
  }
}

TEST(Peaks, TheBestRateIsThatOfAWholeWindow) {
  // A piece per second, and two more within the last quarter of the fourth second.
  const std::vector<double> ends{5, 1, 2, 3, 3.75, 3.875, 4, 6};
  EXPECT_EQ(best_rate(ends, 2), 2 / 0.25);
  EXPECT_DOUBLE_EQ(best_rate(ends, 5), 5 / 3.0);
  EXPECT_DOUBLE_EQ(best_rate(ends, 7), 7 / 5.0);
  EXPECT_EQ(best_rate(ends, 8), 0);
}

TEST(Peaks, MeasuringEndsWhereTheCallerSaysSo) {
  bool enough = true;
  const auto stop = [&] {
    if (enough) throw std::runtime_error("enough");
  };
  PeakMeter meter(1, allowed_cpus(), find_host_kernels("scalar"), 1 << 20, stop);
  EXPECT_THROW(meter.measure(), std::runtime_error);
  enough = false;
  meter.measure();
  enough = true;
  EXPECT_THROW(meter.measure_again(), std::runtime_error);
}

TEST(Peaks, IdealTimeIsTheLargerOfReadingAndComputing) {
  const Peaks peaks{.read_gb_s = 2, .f32_gflop_s = 4, .int8_gop_s = 8};
  EXPECT_DOUBLE_EQ(ideal_seconds({.bytes = 6e9, .int8_ops = 8e9, .f32_ops = 4e9}, peaks), 3);
  EXPECT_DOUBLE_EQ(ideal_seconds({.bytes = 2e9, .int8_ops = 8e9, .f32_ops = 4e9}, peaks), 2);
}

TEST(Peaks, WorkInBfloat16IsBoundByTilesOrElseByFloats) {
  const StepCost cost{.bytes = 2e9, .int8_ops = 8e9, .bf16_ops = 16e9, .f32_ops = 4e9};
  Peaks peaks{.read_gb_s = 2, .f32_gflop_s = 4, .int8_gop_s = 8};
  EXPECT_DOUBLE_EQ(ideal_seconds(cost, peaks), 1 + 1 + 4);
  peaks.bf16_gflop_s = 32;
  peaks.int8_tiles_gop_s = 64;  // bounds nothing
  EXPECT_DOUBLE_EQ(ideal_seconds(cost, peaks), 1 + 1 + 0.5);
}

}  // namespace
}  // namespace ingot
