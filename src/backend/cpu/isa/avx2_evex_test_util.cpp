// The AVX2 kernel table with dot products in the encoding of AVX-512 VNNI. For tests: few machines
// have AVX-VNNI, and the lanes are otherwise equal.
#include "backend/cpu/isa/avx2_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/linear.inl"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& avx2_evex_kernels() {
  using L = Avx2Lanes<true>;
  static const KernelTable kTable =
      join_units(rest_of_table<L>("avx2 (evex)"), linear_kernels<L, kBlocksOf32>(),
                 linear_kernels<L, kBlocksOf256>());
  return kTable;
}

}  // namespace ingot
