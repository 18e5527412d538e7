// F16: weights in half precision, IEEE binary16.
#pragma once

#include "base/half.h"
#include "quant/group.h"

namespace ingot {

/// The format IEEE binary16. Elements are stored as 16-bit integers.
struct F16 {
  static constexpr Format kFormat{1};
  static constexpr const char* kName = "F16";
  static constexpr int kBlock = 1;
  using Element = std::uint16_t;
  INGOT_INLINE static float widen(Element bits) { return half_to_float(bits); }
  INGOT_INLINE static Element narrow(float x) { return float_to_half(x); }
};

static_assert(DenseFormat<F16>);

}  // namespace ingot
