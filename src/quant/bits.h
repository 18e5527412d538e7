// Packing and unpacking of bits, for several block formats.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace ingot {

/// Unpacks 16 bytes to 32 codes: low nibbles to codes 0 to 15, high nibbles to codes 16 to 31.
INGOT_INLINE void split_nibbles(const std::uint8_t* packed, std::uint8_t* code) {
  for (int k = 0; k < 16; ++k) {
    code[k] = static_cast<std::uint8_t>(packed[k] & 15);
    code[k + 16] = static_cast<std::uint8_t>(packed[k] >> 4);
  }
}

/// Sets the fifth bit of 32 codes (Q5_0, Q5_1). Bit k % 8 of byte k / 8 of `high` is for code k.
INGOT_INLINE void add_fifth_bits(const std::uint8_t* high, std::uint8_t* code) {
  for (int k = 0; k < 32; ++k) {
    const int bit = (high[k / 8] >> (k % 8)) & 1;
    code[k] = static_cast<std::uint8_t>(code[k] | (bit << 4));
  }
}

/// A scale and a minimum in unpacked form. Each has 6 bits.
struct ScaleMin {
  std::uint8_t scale;
  std::uint8_t min;
};

/// Unpacks scale j and minimum j (0 to 7) from the 12 bytes of Q4_K and Q5_K. Bytes 0-3 hold scales
/// 0-3 (low 6 bits) and the top 2 bits of scales 4-7. Bytes 4-7 hold minimums in the same way.
/// Bytes 8-11 hold the low 4 bits of scales 4-7 (low nibble) and of minimums 4-7 (high nibble).
INGOT_INLINE ScaleMin unpack_scale_min(const std::uint8_t* packed, int j) {
  if (j < 4) {
    return {static_cast<std::uint8_t>(packed[j] & 63),
            static_cast<std::uint8_t>(packed[j + 4] & 63)};
  }
  const int low = packed[j + 4];
  return {static_cast<std::uint8_t>((low & 15) | ((packed[j - 4] >> 6) << 4)),
          static_cast<std::uint8_t>((low >> 4) | ((packed[j] >> 6) << 4))};
}

/// Packs eight scales and eight minimums into the 12 bytes that unpack_scale_min reads.
INGOT_INLINE void pack_scale_min(const ScaleMin* pairs, std::uint8_t* packed) {
  for (int j = 0; j < 4; ++j) {
    const ScaleMin low = pairs[j];
    const ScaleMin high = pairs[j + 4];
    packed[j] = static_cast<std::uint8_t>(low.scale | ((high.scale >> 4) << 6));
    packed[j + 4] = static_cast<std::uint8_t>(low.min | ((high.min >> 4) << 6));
    packed[j + 8] = static_cast<std::uint8_t>((high.scale & 15) | ((high.min & 15) << 4));
  }
}

}  // namespace ingot
