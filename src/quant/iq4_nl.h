// IQ4_NL: blocks of 32 weights with one scale; a weight is a 4-bit index in a table.
#pragma once

#include "base/half.h"
#include "quant/bits.h"
#include "quant/group.h"

namespace ingot {

/// The format IQ4_NL: weight = d * kTable[code].
///
/// Source: the GGUF format (ggml), type 20.
struct IQ4_NL {
  static constexpr Format kFormat{20};
  static constexpr const char* kName = "IQ4_NL";
  static constexpr int kBlock = 32;
  static constexpr int kBits = 4;
  static constexpr int kScales = 1;
  static constexpr int kMinSign = 0;
  static constexpr bool kSubScales = false;
  static constexpr std::int8_t kTable[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                             1,    13,   25,  38,  53,  69,  89,  113};

  struct Block {
    std::uint16_t d;      ///< scale d, as F16 bits
    std::uint8_t qs[16];  ///< low nibbles: codes 0-15, high nibbles: codes 16-31
  };

  INGOT_INLINE static void unpack(const Block& block, int /*group*/, GroupCodes& out) {
    out = {.d = block.d, .m = 0, .scale = {1, 0}, .min = {}, .code = {}};
    split_nibbles(block.qs, out.code);
  }
  INGOT_INLINE static constexpr int value(int code) { return kTable[code]; }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(IQ4_NL::Block) == 18);
static_assert(BlockFormat<IQ4_NL>);

}  // namespace ingot
