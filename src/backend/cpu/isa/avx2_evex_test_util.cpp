// The kernel table for AVX2 with AVX-VNNI, its dot products in the encoding of AVX-512 VNNI: few
// machines have the first, and the lanes are otherwise the same. Only tests are linked with it.
#include "backend/cpu/isa/avx2_lanes.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx2_evex_kernels() {
  static constexpr KernelTable kTable = make_table<Avx2Lanes<true>>("avx2 (evex)");
  return kTable;
}

}  // namespace ingot
