// HostKernels: kernels that run on the host whatever the device: sampling, and peak measurements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ingot {

/// Elements of a row of logits that sampling treats as one span: their sum of weights is one tree,
/// so the value decides which token is drawn.
inline constexpr std::int64_t kSpan = 256;

/// Spans of a row of n elements; the last one may be short.
constexpr std::int64_t spans_of(std::int64_t n) { return (n + kSpan - 1) / kSpan; }

/// Operands of the peak kernels. The compiler does not know them, so it cannot leave work out.
struct PeakOperands {
  alignas(64) std::uint8_t u[3 * 64] = {};  ///< bytes of weights, unsigned
  alignas(64) float w[3 * 16] = {};         ///< float weights
  std::int8_t x[5 * 4] = {};                ///< four bytes of activations a row
  float f[5] = {};                          ///< a float activation a row
};

/// `chains` accumulators of 16 lanes, each extended once a round. `run` returns the sum of all
/// lanes, so that all of it has to be computed.
template <class Sum>
struct PeakKernel {
  int chains = 0;
  Sum (*run)(std::int64_t rounds, const PeakOperands& operands) = nullptr;
};

/// One instruction set's kernels for the host. All sets give equal bits.
struct HostKernels {
  const char* name = nullptr;  ///< as --cpu-isa spells it

  // Sampling: kernels/sampling.inl.

  /// The largest of n elements, or NaN when one is NaN. tops [spans, 16]: in column l of span s the
  /// largest of x[kSpan s + l + 16 j] over j, -Inf where there is none.
  float (*scan)(const float* x, std::int64_t n, float* tops) = nullptr;
  /// The elements that are at least `least`, by rising index, into `found` and `ids` (each with
  /// room for n); returns their number. `tops` are what `scan` wrote.
  std::int64_t (*collect)(const float* x, const float* tops, std::int64_t n, float least,
                          float* found, std::int32_t* ids) = nullptr;
  /// w = exp((x - largest) * scale) into `weights`; into sums [spans] the tree of each span's 16
  /// lane sums. Either may be null.
  void (*weigh)(const float* x, std::int64_t n, float largest, float scale, float* weights,
                float* sums) = nullptr;

  // Peak rates: kernels/peaks.inl.

  /// A dot product of 4 bytes a lane, chain and round: 8 operations.
  std::array<PeakKernel<std::int32_t>, 3> peak_int8{};
  /// A fused multiply-add a lane, chain and round: 2 operations.
  std::array<PeakKernel<float>, 3> peak_f32{};
  /// Reads a multiple of 512 bytes at an address aligned to 64; returns the sum of their words.
  std::int32_t (*peak_read)(const std::byte* data, std::int64_t bytes) = nullptr;
};

}  // namespace ingot
