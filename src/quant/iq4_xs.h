// IQ4_XS: blocks of 256 weights, 4-bit indices in IQ4_NL's table; a 6-bit scale per 32 weights.
#pragma once

#include "base/half.h"
#include "quant/bits.h"
#include "quant/group.h"
#include "quant/iq4_nl.h"

namespace ingot {

/// The format IQ4_XS: weight = d * (scale - 32) * IQ4_NL::kTable[code].
///
/// Source: the GGUF format (ggml), type 23.
struct IQ4_XS {
  static constexpr Format kFormat{23};
  static constexpr const char* kName = "IQ4_XS";
  static constexpr int kBlock = 256;
  static constexpr int kBits = 4;
  static constexpr int kScales = 1;
  static constexpr int kMinSign = 0;
  static constexpr bool kSubScales = true;

  struct Block {
    std::uint16_t d;           ///< factor of all scales, as F16 bits
    std::uint16_t scales_h;    ///< upper two bits of scale g at bits 2g and 2g + 1
    std::uint8_t scales_l[4];  ///< lower four bits of scale g in nibble g; low nibbles first
    std::uint8_t qs[128];      ///< 32 codes per 16 bytes: 0-15 in low nibbles, 16-31 in high ones
  };

  INGOT_INLINE static void unpack(const Block& block, int group, GroupCodes& out) {
    const int low = (block.scales_l[group / 2] >> (4 * (group % 2))) & 15;
    const int high = (block.scales_h >> (2 * group)) & 3;
    out.d = block.d;
    out.m = 0;
    out.scale[0] = static_cast<std::int8_t>((low | (high << 4)) - 32);
    out.scale[1] = 0;
    out.min[0] = 0;
    out.min[1] = 0;
    split_nibbles(block.qs + 16 * group, out.code);
  }
  INGOT_INLINE static constexpr int value(int code) { return IQ4_NL::value(code); }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(IQ4_XS::Block) == 136);
static_assert(BlockFormat<IQ4_XS>);

}  // namespace ingot
