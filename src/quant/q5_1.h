// Q5_1: blocks of 32 weights with 5 bits each, one scale and one minimum.
#pragma once

#include "base/half.h"
#include "quant/bits.h"
#include "quant/group.h"

namespace ingot {

/// The format Q5_1: weight = d * code + m.
///
/// Source: the GGUF format (ggml), type 7.
struct Q5_1 {
  static constexpr Format kFormat{7};
  static constexpr const char* kName = "Q5_1";
  static constexpr int kBlock = 32;
  static constexpr int kBits = 5;
  static constexpr int kScales = 1;
  static constexpr int kMinSign = +1;
  static constexpr bool kSubScales = false;

  struct Block {
    std::uint16_t d;      ///< scale d, as F16 bits
    std::uint16_t m;      ///< minimum m, as F16 bits
    std::uint8_t qh[4];   ///< fifth bits of the codes: bit k belongs to code k
    std::uint8_t qs[16];  ///< low nibbles: codes 0-15, high nibbles: codes 16-31
  };

  INGOT_INLINE static void unpack(const Block& block, int /*group*/, GroupCodes& out) {
    out = {.d = block.d, .m = block.m, .scale = {1, 0}, .min = {1, 0}, .code = {}};
    split_nibbles(block.qs, out.code);
    add_fifth_bits(block.qh, out.code);
  }
  INGOT_INLINE static constexpr int value(int code) { return code; }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(Q5_1::Block) == 24);
static_assert(BlockFormat<Q5_1>);

}  // namespace ingot
