// F32: weights in single precision, IEEE binary32.
#pragma once

#include "quant/group.h"

namespace ingot {

/// The format IEEE binary32. Elements are plain floats.
struct F32 {
  static constexpr Format kFormat{0};
  static constexpr const char* kName = "F32";
  static constexpr int kBlock = 1;
  using Element = float;
  INGOT_INLINE static float widen(Element x) { return x; }
  INGOT_INLINE static Element narrow(float x) { return x; }
};

static_assert(DenseFormat<F32>);
static_assert(F32::kFormat == Format{0}, "f32_view of base/view.h names format 0");

}  // namespace ingot
