// HostKernels: CPU kernels for sampling and for measuring peak rates, used with every backend.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ingot {

/// Number of logits in a span. Sampling adds the weights of a span as one tree. So another number
/// would change the last bits of sums, and so the drawn tokens.
inline constexpr std::int64_t kSpan = 256;

/// Number of spans in a row of n elements; the last span may be short.
constexpr std::int64_t spans_of(std::int64_t n) { return (n + kSpan - 1) / kSpan; }

/// Operands of the peak kernels. The compiler does not know their values, so it cannot omit work.
struct PeakOperands {
  alignas(64) std::uint8_t u[3 * 64] = {};  ///< weights as unsigned bytes
  alignas(64) float w[3 * 16] = {};         ///< weights as floats
  std::int8_t x[5 * 4] = {};                ///< activations of 5 rows, four bytes each
  float f[5] = {};                          ///< activations of 5 rows, one float each
};

/// A kernel that measures the speed of arithmetic. Each round adds one product to each lane of
/// `chains` accumulators of 16 lanes. `run` returns the sum of all lanes, so no work is omitted.
template <class Sum>
struct PeakKernel {
  int chains = 0;
  Sum (*run)(std::int64_t rounds, const PeakOperands& operands) = nullptr;
};

/// The host kernels of one instruction set. All instruction sets give equal bits.
struct HostKernels {
  const char* name = nullptr;  ///< the value of the option --cpu-isa

  // Sampling kernels (kernels/sampling.inl).

  /// Returns the largest of n elements, or NaN if one is NaN. Writes tops [spans, 16]: column l of
  /// row s is the largest x[kSpan * s + l + 16 * j] over all j, or -Inf if there is none.
  float (*scan)(const float* x, std::int64_t n, float* tops) = nullptr;
  /// Writes the elements that are at least `least` to `found` and their indices, ascending, to
  /// `ids`, each with room for n. Returns the number of found elements. `tops` comes from `scan`.
  std::int64_t (*collect)(const float* x, const float* tops, std::int64_t n, float least,
                          float* found, std::int32_t* ids) = nullptr;
  /// Writes w = exp((x - largest) * scale) to `weights`, and the sum of each span's weights (the
  /// tree of 16 lane sums) to sums [spans]. Either pointer may be null.
  void (*weigh)(const float* x, std::int64_t n, float largest, float scale, float* weights,
                float* sums) = nullptr;

  // Kernels that measure peak rates (kernels/peaks.inl).

  /// Each round does a dot product of 4 bytes, 8 operations, in each lane of each chain.
  std::array<PeakKernel<std::int32_t>, 3> peak_int8{};
  /// Each round does a fused multiply-add, 2 operations, in each lane of each chain.
  std::array<PeakKernel<float>, 3> peak_f32{};
  /// Reads `bytes`, a multiple of 512, from an address aligned to 64. Returns the sum of the words.
  std::int32_t (*peak_read)(const std::byte* data, std::int64_t bytes) = nullptr;
};

}  // namespace ingot
