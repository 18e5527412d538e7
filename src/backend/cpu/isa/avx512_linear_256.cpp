// Kernels for AVX-512 with VNNI: linear kernels of formats with 256-weight blocks.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/linear.inl"

namespace ingot {

const LinearKernels& avx512_linear_256() {
  static constexpr LinearKernels kKernels = linear_kernels<Avx512Lanes<true>, kBlocksOf256>();
  return kKernels;
}

}  // namespace ingot
