// NEON kernels with Armv8.2 dot products: linear kernels of formats with 256-weight blocks.
#include "backend/cpu/isa/neon_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/linear.inl"

namespace ingot {

const LinearKernels& neon_linear_256() {
  static constexpr LinearKernels kKernels = linear_kernels<NeonLanes, kBlocksOf256>();
  return kKernels;
}

}  // namespace ingot
