// MXFP4: blocks of 32 weights in 4-bit floats (E2M1); the scale is a power of two (E8M0).
#pragma once

#include "quant/bits.h"
#include "quant/group.h"

namespace ingot {

/// The format MXFP4: weight = 2^(e - 127) * E2M1(code) = 2^(e - 128) * kDoubled[code].
///
/// Source: OCP Microscaling Formats 1.0; block layout of the GGUF format (ggml), type 39.
struct MXFP4 {
  static constexpr Format kFormat{39};
  static constexpr const char* kName = "MXFP4";
  static constexpr int kBlock = 32;
  static constexpr int kBits = 4;
  static constexpr int kScales = 1;
  static constexpr int kMinSign = 0;
  static constexpr bool kSubScales = false;
  static constexpr std::int8_t kDoubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                               0, -1, -2, -3, -4, -6, -8, -12};

  struct Block {
    std::uint8_t e;       ///< exponent e of the scale, in E8M0
    std::uint8_t qs[16];  ///< low nibbles: codes 0-15, high nibbles: codes 16-31
  };

  INGOT_INLINE static void unpack(const Block& block, int /*group*/, GroupCodes& out) {
    out = {.d = block.e, .m = 0, .scale = {1, 0}, .min = {}, .code = {}};
    split_nibbles(block.qs, out.code);
  }
  INGOT_INLINE static constexpr int value(int code) { return kDoubled[code]; }
  /// Returns 2^(e - 128), subnormal if e < 2. For e = 255 too, as ggml does, although E8M0 has NaN.
  INGOT_INLINE static float scale_value(std::uint16_t e) {
    const std::uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1u) << 23;
    return __builtin_bit_cast(float, bits);
  }
};

static_assert(sizeof(MXFP4::Block) == 17);
static_assert(BlockFormat<MXFP4>);

}  // namespace ingot
