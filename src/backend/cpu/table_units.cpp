// Joins the units of each kernel table. Compiled for every machine: the tables that this one lacks
// are joined too where a test asks for them.
#include "backend/cpu/isa/table_units.h"

namespace ingot {

KernelTable join_units(const KernelTable& rest, const LinearKernels& blocks_of_32,
                       const LinearKernels& blocks_of_256) {
  KernelTable table = rest;
  table.linear = blocks_of_32;
  for (std::size_t i = 0; i < table.linear.size(); ++i) {
    if (blocks_of_256[i].run != nullptr) table.linear[i] = blocks_of_256[i];
  }
  return table;
}

const KernelTable& scalar_kernels() {
  static const KernelTable kTable =
      join_units(scalar_rest(), scalar_linear_32(), scalar_linear_256());
  return kTable;
}

#ifdef INGOT_X86_TABLES
const KernelTable& avx2_novnni_kernels() {
  static const KernelTable kTable =
      join_units(avx2_novnni_rest(), avx2_novnni_linear_32(), avx2_novnni_linear_256());
  return kTable;
}

const KernelTable& avx2_kernels() {
  static const KernelTable kTable = join_units(avx2_rest(), avx2_linear_32(), avx2_linear_256());
  return kTable;
}

const KernelTable& avx512_novnni_kernels() {
  static const KernelTable kTable =
      join_units(avx512_novnni_rest(), avx512_novnni_linear_32(), avx512_novnni_linear_256());
  return kTable;
}

const KernelTable& avx512_kernels() {
  static const KernelTable kTable =
      join_units(avx512_rest(), avx512_linear_32(), avx512_linear_256());
  return kTable;
}
#endif

#ifdef INGOT_ARM_TABLES
const KernelTable& neon_kernels() {
  static const KernelTable kTable = join_units(neon_rest(), neon_linear_32(), neon_linear_256());
  return kTable;
}
#endif

}  // namespace ingot
