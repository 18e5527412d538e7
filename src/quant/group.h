// The C++ concepts that each weight format fulfils: BlockFormat for blocks, DenseFormat for floats.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/inline.h"
#include "base/view.h"

namespace ingot {

/// Number of weights in a group. A weight block has 1 or 8 groups. Kernels process whole groups.
inline constexpr int kGroup = 32;

/// The unpacked integers of 32 consecutive weights in a block format.
///
///     weight[k] = d * scale[j] * value(code[k]) + kMinSign * m * min[j],  j = k / (32 / kScales)
///
/// Without integer scales, scale[0] is 1, and min[0] is 1 if m exists. Fields without use are 0.
struct GroupCodes {
  std::uint16_t d;            ///< the block's scale: F16 bits, or the E8M0 byte of MXFP4
  std::uint16_t m;            ///< the block's minimum, as F16 bits; 0 if the format has none
  std::int8_t scale[2];       ///< integer scales; the offset of stored scales is already subtracted
  std::uint8_t min[2];        ///< integer minimums, one for each entry of `scale`
  std::uint8_t code[kGroup];  ///< code of each weight, in [0, 2^kBits)
};

/// A format with blocks of 32 or 256 weights that share scales.
///
/// - kBits: number of bits in a code.
/// - kScales: number of scales for 32 weights, 1 or 2.
/// - kMinSign: 0 if the format has no minimum, +1 if weights add it, -1 if weights subtract it.
/// - kSubScales: whether blocks have integer scales besides d.
/// - unpack(block, group, out) sets every field of `out`; `group` is in [0, kBlock / 32).
/// - value(code) returns the integer that a code stands for. The integer fits in an int8.
/// - scale_value(bits) converts GroupCodes::d or m to float.
template <class T>
concept BlockFormat = requires(const typename T::Block& block, GroupCodes& out) {
  { T::kFormat } -> std::convertible_to<Format>;
  { T::kName } -> std::convertible_to<const char*>;
  requires T::kBlock == kGroup || T::kBlock == 256;
  requires T::kBits >= 2 && T::kBits <= 8;
  requires T::kScales == 1 || T::kScales == 2;
  requires T::kMinSign >= -1 && T::kMinSign <= 1;
  { T::kSubScales } -> std::convertible_to<bool>;
  T::unpack(block, 0, out);
  { T::value(0) } -> std::same_as<int>;
  { T::scale_value(std::uint16_t{0}) } -> std::same_as<float>;
};

/// A format with a float for each weight. `widen` is exact. `narrow` rounds to nearest even.
template <class T>
concept DenseFormat = requires(typename T::Element element, float x) {
  { T::kFormat } -> std::convertible_to<Format>;
  { T::kName } -> std::convertible_to<const char*>;
  requires T::kBlock == 1;
  { T::widen(element) } -> std::same_as<float>;
  { T::narrow(x) } -> std::same_as<typename T::Element>;
};

/// Returns the bytes of one weight block, or of one element if the format is dense.
template <class T>
INGOT_INLINE constexpr int block_bytes() {
  if constexpr (DenseFormat<T>) {
    return static_cast<int>(sizeof(typename T::Element));
  } else {
    return static_cast<int>(sizeof(typename T::Block));
  }
}

}  // namespace ingot
