// Q4_K: blocks of 256 weights with 4 bits each; a 6-bit scale and minimum per 32 weights.
#pragma once

#include "base/half.h"
#include "quant/bits.h"
#include "quant/group.h"

namespace ingot {

/// The format Q4_K: weight = d * scale * code - dmin * min.
///
/// Source: the GGUF format (ggml), type 12.
struct Q4_K {
  static constexpr Format kFormat{12};
  static constexpr const char* kName = "Q4_K";
  static constexpr int kBlock = 256;
  static constexpr int kBits = 4;
  static constexpr int kScales = 1;
  static constexpr int kMinSign = -1;
  static constexpr bool kSubScales = true;

  struct Block {
    std::uint16_t d;          ///< factor of all scales, as F16 bits
    std::uint16_t dmin;       ///< factor of all minimums, as F16 bits
    std::uint8_t scales[12];  ///< 8 scales and 8 minimums of 6 bits each, see unpack_scale_min
    std::uint8_t qs[128];     ///< 64 codes per 32 bytes: 0-31 in low nibbles, 32-63 in high nibbles
  };

  INGOT_INLINE static void unpack(const Block& block, int group, GroupCodes& out) {
    const ScaleMin pair = unpack_scale_min(block.scales, group);
    const std::uint8_t* qs = block.qs + 32 * (group / 2);
    const int shift = 4 * (group % 2);
    out.d = block.d;
    out.m = block.dmin;
    out.scale[0] = static_cast<std::int8_t>(pair.scale);
    out.scale[1] = 0;
    out.min[0] = pair.min;
    out.min[1] = 0;
    for (int k = 0; k < kGroup; ++k) out.code[k] = static_cast<std::uint8_t>((qs[k] >> shift) & 15);
  }
  INGOT_INLINE static constexpr int value(int code) { return code; }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(Q4_K::Block) == 144);
static_assert(BlockFormat<Q4_K>);

}  // namespace ingot
