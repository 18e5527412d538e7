// Kernels for AVX2 with AVX-VNNI: linear kernels of dense formats and 32-weight blocks.
#include "backend/cpu/isa/avx2_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/linear.inl"

namespace ingot {

const LinearKernels& avx2_linear_32() {
  static constexpr LinearKernels kKernels = linear_kernels<Avx2Lanes<true>, kBlocksOf32>();
  return kKernels;
}

}  // namespace ingot
