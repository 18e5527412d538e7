// The kernel table for AVX-512 with VNNI.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx512_kernels() {
  static constexpr KernelTable kTable = make_table<Avx512Lanes<true>>("avx512");
  return kTable;
}

}  // namespace ingot
