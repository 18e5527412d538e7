// The three compilation units of a kernel table. Several cores compile the units in parallel.
// cpu/table_units.cpp joins them.
#pragma once

#include "backend/cpu/kernel_table.h"

namespace ingot {

/// Joins three units into a table. Each format's linear kernel is in one of the last two units.
KernelTable join_units(const KernelTable& rest, const LinearKernels& blocks_of_32,
                       const LinearKernels& blocks_of_256);

/// Returns a table with all kernels except the linear kernels.
const KernelTable& scalar_rest();
const KernelTable& avx2_novnni_rest();
const KernelTable& avx2_rest();
const KernelTable& avx512_novnni_rest();
const KernelTable& avx512_rest();
const KernelTable& neon_rest();

/// Returns the linear kernels of dense formats and of formats with blocks of 32 weights.
const LinearKernels& scalar_linear_32();
const LinearKernels& avx2_novnni_linear_32();
const LinearKernels& avx2_linear_32();
const LinearKernels& avx512_novnni_linear_32();
const LinearKernels& avx512_linear_32();
const LinearKernels& neon_linear_32();

/// Returns the linear kernels of formats with blocks of 256 weights.
const LinearKernels& scalar_linear_256();
const LinearKernels& avx2_novnni_linear_256();
const LinearKernels& avx2_linear_256();
const LinearKernels& avx512_novnni_linear_256();
const LinearKernels& avx512_linear_256();
const LinearKernels& neon_linear_256();

}  // namespace ingot
