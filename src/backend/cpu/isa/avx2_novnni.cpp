// The kernel table for AVX2.
#include "backend/cpu/isa/avx2_lanes.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx2_novnni_kernels() {
  static constexpr KernelTable kTable = make_table<Avx2Lanes<false>>("avx2-novnni");
  return kTable;
}

}  // namespace ingot
