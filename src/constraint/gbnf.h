// GBNF: compiles grammars in llama.cpp's notation.
#pragma once

#include <string_view>

#include "constraint/grammar.h"

namespace ingot {

/// Adds the rules of a GBNF text to `grammar` and returns the node of its rule `root`. Parts without
/// recursion become single languages where they fit.
///
/// Errors: Error{kInvalid} that names line and column: syntax, undefined rules, left recursion; those
///         of TextDfa and CompileBudget.
/// Source: llama.cpp, grammars/README.md.
NodeId add_gbnf(Grammar& grammar, std::string_view text, CompileBudget& budget);

}  // namespace ingot
