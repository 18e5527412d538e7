// The scalar kernel table: plain C++, every machine.
#include "backend/cpu/isa/scalar_lanes.h"
#include "backend/cpu/kernels/table.inl"

namespace ingot {

const KernelTable& scalar_kernels() {
  static constexpr KernelTable kTable = make_table<ScalarLanes>("scalar");
  return kTable;
}

}  // namespace ingot
