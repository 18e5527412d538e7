// Kernels that measure a machine's peak rates: loops of dot products, fused multiply-adds and
// reads, with the operations of a lanes type.
#pragma once

#include "backend/host_kernels.h"
#include "base/inline.h"

namespace ingot {
namespace {

/// In each round adds kRows * kCols * 16 dot products of 4 bytes to 32-bit sums; returns the total.
/// If `linear` widens several sums at once (kPairSums), it can exceed this rate. The chains are
/// independent, and no two chains add equal products, as in `linear`.
///
/// Each round reads the rows' operand again, as `linear` does: the compiler does not know that its
/// address is constant. Otherwise it would compute constant products once.
template <class L, int kRows, int kCols>
std::int32_t peak_int8(std::int64_t rounds, const PeakOperands& operands) {
  typename L::I acc[kRows][kCols];
  typename L::B u[kCols];
  for (int c = 0; c < kCols; ++c) {
    u[c] = L::load_bytes(operands.u + 64 * c);
    for (int r = 0; r < kRows; ++r) acc[r][c] = L::splat_int(0);
  }
  const std::int8_t* x = operands.x;
  for (std::int64_t i = 0; i < rounds; ++i) {
    __asm__ volatile("" : "+r"(x));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < kCols; ++c)
        acc[r][c] = L::template dot<false>(acc[r][c], u[c], x + 4 * r);
    }
  }
  typename L::I sum = L::splat_int(0);
  for (const auto& row : acc) {
    for (const auto& chain : row) sum = L::add_int(sum, chain);
  }
  return L::sum_int(sum);
}

/// In each round adds kRows * kCols * 16 products; returns the total.
template <class L, int kRows, int kCols>
float peak_f32(std::int64_t rounds, const PeakOperands& operands) {
  typename L::F acc[kRows][kCols];
  typename L::F w[kCols];
  typename L::F x[kRows];
  for (int c = 0; c < kCols; ++c) {
    w[c] = L::load(operands.w + 16 * c);
    for (int r = 0; r < kRows; ++r) acc[r][c] = L::splat(0);
  }
  for (int r = 0; r < kRows; ++r) x[r] = L::splat(operands.f[r]);
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < kCols; ++c) acc[r][c] = L::fma(w[c], x[r], acc[r][c]);
    }
  }
  typename L::F sum = L::splat(0);
  for (const auto& row : acc) {
    for (const auto& chain : row) sum = L::add(sum, chain);
  }
  return L::tree(sum);
}

/// Reads `bytes` bytes at `data`, a multiple of 512, and returns the sum of the 32-bit words.
template <class L>
std::int32_t peak_read(const std::byte* data, std::int64_t bytes) {
  constexpr int kStreams = 8;
  typename L::I acc[kStreams];
  for (auto& a : acc) a = L::splat_int(0);
  for (const std::byte* end = data + bytes; data < end; data += 64 * kStreams) {
#pragma GCC unroll 16
    for (int s = 0; s < kStreams; ++s) {
      const auto* line = reinterpret_cast<const float*>(data + 64 * s);
      acc[s] = L::add_int(acc[s], L::bits(L::load(line)));
    }
  }
  typename L::I sum = acc[0];
  for (int s = 1; s < kStreams; ++s) sum = L::add_int(sum, acc[s]);
  return L::sum_int(sum);
}

/// Sets kernels with few chains, for lanes of several registers, and with many chains, for lanes of
/// one register. A measurement finds the fastest.
template <class L>
constexpr void set_peaks(HostKernels& table) {
  table.peak_int8 = {{{3, peak_int8<L, 3, 1>}, {5, peak_int8<L, 5, 1>}, {12, peak_int8<L, 4, 3>}}};
  table.peak_f32 = {{{3, peak_f32<L, 3, 1>}, {5, peak_f32<L, 5, 1>}, {12, peak_f32<L, 4, 3>}}};
  table.peak_read = peak_read<L>;
}

}  // namespace
}  // namespace ingot
