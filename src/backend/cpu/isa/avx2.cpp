// The kernel table for AVX2 with AVX-VNNI.
#include "backend/cpu/isa/avx2_lanes.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx2_kernels() {
  static constexpr KernelTable kTable = make_table<Avx2Lanes<true>>("avx2");
  return kTable;
}

}  // namespace ingot
