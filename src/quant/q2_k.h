// Q2_K: blocks of 256 weights with 2 bits each; a 4-bit scale and a 4-bit minimum per 16 weights.
#pragma once

#include "base/half.h"
#include "quant/group.h"

namespace ingot {

/// The format Q2_K: weight = d * scale * code - dmin * min.
///
/// Source: the GGUF format (ggml), type 10.
struct Q2_K {
  static constexpr Format kFormat{10};
  static constexpr const char* kName = "Q2_K";
  static constexpr int kBlock = 256;
  static constexpr int kBits = 2;
  static constexpr int kScales = 2;
  static constexpr int kMinSign = -1;
  static constexpr bool kSubScales = true;

  struct Block {
    std::uint8_t scales[16];  ///< one byte per 16 weights: low nibble scale, high nibble minimum
    std::uint8_t qs[64];      ///< 32 bytes per 128 codes: code 32g + k in bits 2g, 2g + 1 of byte k
    std::uint16_t d;          ///< factor of all scales, as F16 bits
    std::uint16_t dmin;       ///< factor of all minimums, as F16 bits
  };

  INGOT_INLINE static void unpack(const Block& block, int group, GroupCodes& out) {
    const std::uint8_t* scales = block.scales + 2 * group;
    const std::uint8_t* qs = block.qs + 32 * (group / 4);
    const int shift = 2 * (group % 4);
    out.d = block.d;
    out.m = block.dmin;
    for (int j = 0; j < 2; ++j) {
      out.scale[j] = static_cast<std::int8_t>(scales[j] & 15);
      out.min[j] = static_cast<std::uint8_t>(scales[j] >> 4);
    }
    for (int k = 0; k < kGroup; ++k) out.code[k] = static_cast<std::uint8_t>((qs[k] >> shift) & 3);
  }
  INGOT_INLINE static constexpr int value(int code) { return code; }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(Q2_K::Block) == 84);
static_assert(BlockFormat<Q2_K>);

}  // namespace ingot
