// Plain C++ kernels for every machine: linear kernels of formats with 256-weight blocks.
#include "backend/cpu/isa/scalar_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/linear.inl"

namespace ingot {

const LinearKernels& scalar_linear_256() {
  static constexpr LinearKernels kKernels = linear_kernels<ScalarLanes, kBlocksOf256>();
  return kKernels;
}

}  // namespace ingot
