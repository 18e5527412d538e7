// BF16: weights in bfloat16, the upper 16 bits of a float32.
#pragma once

#include "base/half.h"
#include "quant/group.h"

namespace ingot {

/// The format bfloat16. Elements are stored as 16-bit integers.
struct BF16 {
  static constexpr Format kFormat{30};
  static constexpr const char* kName = "BF16";
  static constexpr int kBlock = 1;
  using Element = std::uint16_t;
  INGOT_INLINE static float widen(Element bits) { return bfloat16_to_float(bits); }
  INGOT_INLINE static Element narrow(float x) { return float_to_bfloat16(x); }
};

static_assert(DenseFormat<BF16>);

}  // namespace ingot
