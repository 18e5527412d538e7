// Mark search: can a grammar write a mark, perhaps in several terminals together?
#pragma once

#include <span>
#include <string>

#include "constraint/compile_budget.h"
#include "constraint/grammar.h"

namespace ingot {

/// Whether a text of the node `root` has one of `marks`. The grammar has only terminals,
/// sequences, choices and repetitions. Counts of repetitions are not looked at: a text with other
/// counts may be found.
///
/// Errors: those of CompileBudget.
bool can_write_mark(const Grammar& grammar, NodeId root, std::span<const std::string> marks,
                    CompileBudget& budget);

}  // namespace ingot
