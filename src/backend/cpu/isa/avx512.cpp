// Kernels for AVX-512 with VNNI: attention, norms, sampling, peaks.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx512_rest() {
  static constexpr KernelTable kTable = rest_of_table<Avx512Lanes<true>>("avx512");
  return kTable;
}

}  // namespace ingot
