// Checks at the start of the program that a kernel table computes what another one does.
#pragma once

#include "backend/cpu/kernel_table.h"

namespace ingot {

/// Returns whether the linear of rounded rows in `table` gives the bits of the one in `judge`, for
/// a few thousand outputs of numbers of all magnitudes. The order of the sums in a matrix unit
/// is measured, not documented, and a processor may differ from its documents.
bool multiplies_as(const KernelTable& table, const KernelTable& judge);

}  // namespace ingot
