// Kernels for AVX2: attention, norms, sampling, peaks.
#include "backend/cpu/isa/avx2_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx2_novnni_rest() {
  static constexpr KernelTable kTable = rest_of_table<Avx2Lanes<false>>("avx2-novnni");
  return kTable;
}

}  // namespace ingot
