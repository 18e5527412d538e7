// Kernels for AVX-512 with VNNI: linear kernels of dense formats and 32-weight blocks.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/linear.inl"

namespace ingot {

const LinearKernels& avx512_linear_32() {
  static constexpr LinearKernels kKernels = linear_kernels<Avx512Lanes<true>, kBlocksOf32>();
  return kKernels;
}

}  // namespace ingot
