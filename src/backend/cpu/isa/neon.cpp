// Kernels for NEON with the dot products of Armv8.2: attention, norms, sampling, peaks.
#include "backend/cpu/isa/neon_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& neon_rest() {
  static constexpr KernelTable kTable = rest_of_table<NeonLanes>("neon");
  return kTable;
}

}  // namespace ingot
