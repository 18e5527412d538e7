// Kernels for AVX-512 without VNNI: attention, norms, sampling, peaks.
#include "backend/cpu/isa/avx512_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx512_novnni_rest() {
  static constexpr KernelTable kTable = rest_of_table<Avx512Lanes<false>>("avx512-novnni");
  return kTable;
}

}  // namespace ingot
