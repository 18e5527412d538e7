// The kernel table for NEON with the dot products of Armv8.2.
#include "backend/cpu/isa/neon_lanes.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& neon_kernels() {
  static constexpr KernelTable kTable = make_table<NeonLanes>("neon");
  return kTable;
}

}  // namespace ingot
