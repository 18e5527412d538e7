// Q8_0: blocks of 32 weights with 8 bits each and one scale.
#pragma once

#include "base/half.h"
#include "quant/group.h"

namespace ingot {

/// The format Q8_0: weight = d * q, with q = code - 128.
///
/// Source: the GGUF format (ggml), type 8.
struct Q8_0 {
  static constexpr Format kFormat{8};
  static constexpr const char* kName = "Q8_0";
  static constexpr int kBlock = 32;
  static constexpr int kBits = 8;
  static constexpr int kScales = 1;
  static constexpr int kMinSign = 0;
  static constexpr bool kSubScales = false;

  struct Block {
    std::uint16_t d;     ///< scale d, as F16 bits
    std::int8_t qs[32];  ///< the integers q; encoders write -127 to 127, but files may have -128
  };

  INGOT_INLINE static void unpack(const Block& block, int /*group*/, GroupCodes& out) {
    out = {.d = block.d, .m = 0, .scale = {1, 0}, .min = {}, .code = {}};
    for (int k = 0; k < kGroup; ++k) out.code[k] = static_cast<std::uint8_t>(block.qs[k] + 128);
  }
  INGOT_INLINE static constexpr int value(int code) { return code - 128; }
  INGOT_INLINE static float scale_value(std::uint16_t bits) { return half_to_float(bits); }
};

static_assert(sizeof(Q8_0::Block) == 34);
static_assert(BlockFormat<Q8_0>);

}  // namespace ingot
