// HostKernels: CPU kernels for sampling and for measuring peak rates, used with every backend.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ingot {

/// Number of logits in a span. Sampling adds up the weights of each span by a tree. Another number
/// changes the last bits of the spans' sums, and so the sampled tokens.
inline constexpr std::int64_t kSpan = 256;

/// Returns the number of spans in a row of n elements; the last span may be short.
constexpr std::int64_t spans_of(std::int64_t n) { return (n + kSpan - 1) / kSpan; }

/// Operands of the peak-rate kernels. The compiler does not know these values, so it omits no work.
struct PeakOperands {
  alignas(64) std::uint8_t u[3 * 64] = {};  ///< weights as unsigned bytes
  alignas(64) float w[3 * 16] = {};         ///< weights as floats
  std::int8_t x[5 * 4] = {};                ///< activations of 5 rows, four bytes each
  float f[5] = {};                          ///< activations of 5 rows, one float each
  // Operands of AMX tiles, whose 16 rows are all equal: 64 bytes of weights (4 for each output) are
  // in `u`.
  alignas(64) std::int8_t tile_x[64] = {};    ///< a row of activations
  alignas(64) std::uint16_t tile_w[32] = {};  ///< bfloat16 weights, a pair for each output
  alignas(64) std::uint16_t tile_f[32] = {};  ///< a row of bfloat16 activations
};

/// A kernel that measures arithmetic speed. Each round adds one product to each of the 16 lanes of
/// `chains` accumulators. `run` returns the sum of all lanes, so the compiler omits no work.
template <class Sum>
struct PeakKernel {
  int chains = 0;
  Sum (*run)(std::int64_t rounds, const PeakOperands& operands) = nullptr;
};

/// The host kernels of one instruction set. The kernels of all instruction sets give equal bits.
struct HostKernels {
  const char* name = nullptr;  ///< name of the instruction set, a value of the option --cpu-isa

  // Sampling kernels (kernels/sampling.inl).

  /// Returns the largest of n elements, or NaN if any is NaN. Writes tops [spans, 16]: column l of
  /// row s is the largest x[kSpan * s + l + 16 * j] over all j, or -Inf if no such x exists.
  float (*scan)(const float* x, std::int64_t n, float* tops) = nullptr;
  /// Writes the elements >= `least` to `found`, and their indices, ascending, to `ids`. Both arrays
  /// have room for n. Returns the number of elements found. `tops` is the output of `scan`.
  std::int64_t (*collect)(const float* x, const float* tops, std::int64_t n, float least,
                          float* found, std::int32_t* ids) = nullptr;
  /// Writes w = exp((x - largest) * scale) to `weights`, and the sum of each span's weights (the
  /// tree of 16 lane sums) to sums [spans]. Either output may be null.
  void (*weigh)(const float* x, std::int64_t n, float largest, float scale, float* weights,
                float* sums) = nullptr;

  // Kernels that measure peak rates (kernels/peaks.inl).

  /// Each round adds a dot product of 4 bytes (8 operations) to each lane of each chain.
  std::array<PeakKernel<std::int32_t>, 3> peak_int8{};
  /// Each round adds a product (2 operations) to each lane of each chain.
  std::array<PeakKernel<float>, 3> peak_f32{};
  /// Each round adds a dot product of 64 bytes (128 operations) to each lane of each chain, with
  /// AMX tiles. `run` is null without tiles. A chain is a row of a tile of sums.
  PeakKernel<std::int32_t> peak_int8_tiles{};
  /// Each round adds a dot product of 32 bfloat16 (64 operations) to each lane of each chain, with
  /// AMX tiles or products of pairs. `run` is null if the table has neither.
  PeakKernel<float> peak_bf16{};
  /// Reads `bytes` (a multiple of 512) at `data` (aligned to 64). Returns the sum of 32-bit words.
  std::int32_t (*peak_read)(const std::byte* data, std::int64_t bytes) = nullptr;
};

}  // namespace ingot
