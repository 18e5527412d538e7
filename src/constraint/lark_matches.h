// Longest matches: finds terminals that a translated grammar may end earlier than Lark does.
#pragma once

#include <string>
#include <string_view>

#include "constraint/compile_budget.h"
#include "constraint/language/code_points.h"

namespace ingot {

/// Whether a rule of a translated grammar is a terminal: "t-0", or "l-" and capital letters.
bool is_lark_terminal(std::string_view rule);

/// Returns the rule of a terminal that may end although the next character could continue it, or
/// "ignored" if an ignored text may. Empty: there is none, so each terminal has its longest text.
/// Characters outside ASCII count as one. `behind_ignored` can continue an ignored text.
///
/// Errors: those of add_gbnf.
std::string find_early_end(std::string_view gbnf, const CodePoints& behind_ignored,
                           CompileBudget& budget);

}  // namespace ingot
