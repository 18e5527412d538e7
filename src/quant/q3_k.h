// Q3_K: blocks of 256 weights with 3 bits each; a signed 6-bit scale per 16 weights.
#pragma once

#include "base/half.h"
#include "quant/group.h"

namespace ingot {

/// The format Q3_K: weight = d * (scale - 32) * (code - 4).
///
/// Source: the GGUF format (ggml), type 11.
struct Q3_K {
  static constexpr Format kFormat{11};
  static constexpr const char* kName = "Q3_K";
  static constexpr int kBlock = 256;
  static constexpr int kBits = 3;
  static constexpr int kScales = 2;
  static constexpr int kMinSign = 0;
  static constexpr bool kSubScales = true;

  struct Block {
    std::uint8_t hmask[32];   ///< third bits of the codes: code 32g + k in bit g of byte k
    std::uint8_t qs[64];      ///< low two bits of the codes, stored as in Q2_K::Block::qs
    std::uint8_t scales[12];  ///< 16 scales of 6 bits each, see scale_of
    std::uint16_t d;          ///< factor of all scales, as F16 bits
  };

  /// Returns scale j of 16, minus 32. Low four bits: in byte j % 8, in the low nibble if j < 8,
  /// else in the high nibble. Upper two bits: in byte 8 + j % 4, at bit 2 * (j / 4).
  INGOT_INLINE static std::int8_t scale_of(const Block& block, int j) {
    const int low = (block.scales[j % 8] >> (4 * (j / 8))) & 15;
    const int high = (block.scales[8 + j % 4] >> (2 * (j / 4))) & 3;
    return static_cast<std::int8_t>((low | (high << 4)) - 32);
  }

  INGOT_INLINE static void unpack(const Block& block, int group, GroupCodes& out) {
    const std::uint8_t* qs = block.qs + 32 * (group / 4);
    const int shift = 2 * (group % 4);
    out.d = block.d;
    out.m = 0;
    for (int j = 0; j < 2; ++j) {
      out.scale[j] = scale_of(block, 2 * group + j);
      out.min[j] = 0;
    }
    for (int k = 0; k < kGroup; ++k) {
      const int high = (block.hmask[k] >> group) & 1;
      out.code[k] = static_cast<std::uint8_t>(((qs[k] >> shift) & 3) | (high << 2));
    }
  }
  INGOT_INLINE static constexpr int value(int code) { return code - 4; }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(Q3_K::Block) == 110);
static_assert(BlockFormat<Q3_K>);

}  // namespace ingot
