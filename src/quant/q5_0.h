// Q5_0: blocks of 32 weights with 5 bits each and one scale.
#pragma once

#include "base/half.h"
#include "quant/bits.h"
#include "quant/group.h"

namespace ingot {

/// The format Q5_0: weight = d * (code - 16).
///
/// Source: the GGUF format (ggml), type 6.
struct Q5_0 {
  static constexpr Format kFormat{6};
  static constexpr const char* kName = "Q5_0";
  static constexpr int kBlock = 32;
  static constexpr int kBits = 5;
  static constexpr int kScales = 1;
  static constexpr int kMinSign = 0;
  static constexpr bool kSubScales = false;

  struct Block {
    std::uint16_t d;      ///< scale d, as F16 bits
    std::uint8_t qh[4];   ///< fifth bits of the codes: bit k belongs to code k
    std::uint8_t qs[16];  ///< low nibbles: codes 0-15, high nibbles: codes 16-31
  };

  INGOT_INLINE static void unpack(const Block& block, int /*group*/, GroupCodes& out) {
    out = {.d = block.d, .m = 0, .scale = {1, 0}, .min = {}, .code = {}};
    split_nibbles(block.qs, out.code);
    add_fifth_bits(block.qh, out.code);
  }
  INGOT_INLINE static constexpr int value(int code) { return code - 16; }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(Q5_0::Block) == 22);
static_assert(BlockFormat<Q5_0>);

}  // namespace ingot
