// The choice of the kernel tables that a machine is offered, and the check that they give equal
// bits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/cpu/kernel_table.h"
#include "base/function_ref.h"

namespace ingot {

/// Returns whether the linear of rounded rows in `table` gives the bits of the one in `judge`, for
/// a few thousand outputs of numbers of all magnitudes. The order of the sums in a matrix unit
/// is measured, not documented, and a processor may differ from its documents.
bool multiplies_as(const KernelTable& table, const KernelTable& judge);

/// A table, and what a machine says of it.
struct TableCandidate {
  /// Returns the table. Its code may be compiled for the table's instructions, so it is called only
  /// if `runs`.
  const KernelTable& (*table)() = nullptr;
  bool runs = false;        ///< whether the machine has its instructions
  bool is_checked = false;  ///< whether it is offered only if it passes the check
  /// Whether it is faster than those before it. Else it stands before the last one that is offered.
  bool is_fastest = true;
};

/// Tables in the order of their speed, fastest last, and a warning, or "".
struct ChosenTables {
  std::vector<const KernelTable*> tables;
  std::string warning;
};

/// Chooses the candidates that run and pass the check. Warns of each that fails it although it
/// would be faster than those before it. The first candidate runs, is not checked, and is fastest.
ChosenTables choose_tables(std::span<const TableCandidate> candidates,
                           FunctionRef<bool(const KernelTable&)> passes_check);

}  // namespace ingot
