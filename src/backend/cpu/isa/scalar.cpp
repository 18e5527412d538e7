// Plain C++ kernels for every machine: attention, norms, sampling, peaks.
#include "backend/cpu/isa/scalar_lanes.h"
#include "backend/cpu/isa/table_units.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& scalar_rest() {
  static constexpr KernelTable kTable = rest_of_table<ScalarLanes>("scalar");
  return kTable;
}

}  // namespace ingot
