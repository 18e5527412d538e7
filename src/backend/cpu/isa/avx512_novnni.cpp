// The kernel table for AVX-512 without VNNI.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx512_novnni_kernels() {
  static constexpr KernelTable kTable = make_table<Avx512Lanes<false>>("avx512-novnni");
  return kTable;
}

}  // namespace ingot
