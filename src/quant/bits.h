// Packing and unpacking of bits that several block formats share.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace ingot {

/// Unpacks 16 bytes to 32 codes. Low nibbles are codes 0 to 15, high nibbles are codes 16 to 31.
INGOT_INLINE void split_nibbles(const std::uint8_t* packed, std::uint8_t* code) {
  for (int k = 0; k < 16; ++k) {
    code[k] = static_cast<std::uint8_t>(packed[k] & 15);
    code[k + 16] = static_cast<std::uint8_t>(packed[k] >> 4);
  }
}

/// Adds the fifth bits to 32 codes (Q5_0, Q5_1). Bit k % 8 of byte k / 8 belongs to code k.
INGOT_INLINE void add_fifth_bits(const std::uint8_t* high, std::uint8_t* code) {
  for (int k = 0; k < 32; ++k) {
    const int bit = (high[k / 8] >> (k % 8)) & 1;
    code[k] = static_cast<std::uint8_t>(code[k] | (bit << 4));
  }
}

/// A scale and a minimum with 6 bits each, unpacked.
struct ScaleMin {
  std::uint8_t scale;
  std::uint8_t min;
};

/// Unpacks scale j and minimum j (0 to 7) from the 12 bytes of Q4_K and Q5_K. The low 6 bits of
/// bytes 0-3 are scales 0-3, those of bytes 4-7 are minimums 0-3. Bytes 8-11 have the low nibbles
/// of scales 4-7 and minimums 4-7; their upper two bits are the top bits of bytes 0-3 and 4-7.
INGOT_INLINE ScaleMin unpack_scale_min(const std::uint8_t* packed, int j) {
  if (j < 4) {
    return {static_cast<std::uint8_t>(packed[j] & 63),
            static_cast<std::uint8_t>(packed[j + 4] & 63)};
  }
  const int low = packed[j + 4];
  return {static_cast<std::uint8_t>((low & 15) | ((packed[j - 4] >> 6) << 4)),
          static_cast<std::uint8_t>((low >> 4) | ((packed[j] >> 6) << 4))};
}

/// Packs eight scales and minimums to 12 bytes, as unpack_scale_min reads them.
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
