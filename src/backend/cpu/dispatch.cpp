// Which kernel tables this machine can run.
#include "backend/cpu/kernel_table.h"

namespace ingot {

std::span<const KernelTable* const> kernel_tables() {
  static const std::array<const KernelTable*, 1> tables{&scalar_kernels()};
  return tables;
}

}  // namespace ingot
