// Q6_K: blocks of 256 weights with 6 bits each; a signed 8-bit scale per 16 weights.
#pragma once

#include "base/half.h"
#include "quant/group.h"

namespace ingot {

/// The format Q6_K: weight = d * scale * (code - 32).
///
/// Source: the GGUF format (ggml), type 14.
struct Q6_K {
  static constexpr Format kFormat{14};
  static constexpr const char* kName = "Q6_K";
  static constexpr int kBlock = 256;
  static constexpr int kBits = 6;
  static constexpr int kScales = 2;
  static constexpr int kMinSign = 0;
  static constexpr bool kSubScales = true;

  /// A block has two halves of 128 weights. A half has 64 bytes of `ql` and 32 bytes of `qh`. Code
  /// 32g + k of a half has its low four bits in byte 32 * (g % 2) + k of `ql`: in the low nibble if
  /// g < 2, else in the high nibble. Its upper two bits are at bit 2g of byte k of `qh`.
  struct Block {
    std::uint8_t ql[128];
    std::uint8_t qh[64];
    std::int8_t scales[16];  ///< one scale per 16 weights
    std::uint16_t d;         ///< factor of all scales, as F16 bits
  };

  INGOT_INLINE static void unpack(const Block& block, int group, GroupCodes& out) {
    const int half = group / 4;
    const int g = group % 4;
    const std::uint8_t* ql = block.ql + 64 * half + 32 * (g % 2);
    const std::uint8_t* qh = block.qh + 32 * half;
    out.d = block.d;
    out.m = 0;
    for (int j = 0; j < 2; ++j) {
      out.scale[j] = block.scales[2 * group + j];
      out.min[j] = 0;
    }
    for (int k = 0; k < kGroup; ++k) {
      const int low = (ql[k] >> (4 * (g / 2))) & 15;
      const int high = (qh[k] >> (2 * g)) & 3;
      out.code[k] = static_cast<std::uint8_t>(low | (high << 4));
    }
  }
  INGOT_INLINE static constexpr int value(int code) { return code - 32; }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(Q6_K::Block) == 210);
static_assert(BlockFormat<Q6_K>);

}  // namespace ingot
