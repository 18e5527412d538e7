// The three units that the kernels of one instruction set are compiled in, so that several cores
// compile a table together. cpu/table_units.cpp joins them.
#pragma once

#include "backend/cpu/kernel_table.h"

namespace ingot {

/// A table from its units; each format has a kernel in one of the last two.
KernelTable join_units(const KernelTable& rest, const LinearKernels& blocks_of_32,
                       const LinearKernels& blocks_of_256);

/// Everything but products with weights.
const KernelTable& scalar_rest();
const KernelTable& avx2_novnni_rest();
const KernelTable& avx2_rest();
const KernelTable& avx512_novnni_rest();
const KernelTable& avx512_rest();
const KernelTable& neon_rest();

/// Products with floats and with blocks of 32 weights.
const LinearKernels& scalar_linear_32();
const LinearKernels& avx2_novnni_linear_32();
const LinearKernels& avx2_linear_32();
const LinearKernels& avx512_novnni_linear_32();
const LinearKernels& avx512_linear_32();
const LinearKernels& neon_linear_32();

/// Products with blocks of 256 weights.
const LinearKernels& scalar_linear_256();
const LinearKernels& avx2_novnni_linear_256();
const LinearKernels& avx2_linear_256();
const LinearKernels& avx512_novnni_linear_256();
const LinearKernels& avx512_linear_256();
const LinearKernels& neon_linear_256();

}  // namespace ingot
