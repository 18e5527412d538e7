// Grammars of a custom tool's text: as it is, or as a JSON string.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "constraint/compile_budget.h"
#include "constraint/grammar.h"
#include "text/chat/tools/tool.h"

namespace ingot {

/// The texts that a custom tool takes; nothing if its grammar has recursion.
///
/// Errors: those of the tool's grammar.
std::optional<TextDfa> custom_language(const Tool& tool, CompileBudget& budget);

/// Adds the texts of a custom tool as JSON strings, with quotes.
///
/// Errors: those of the tool's grammar.
NodeId add_custom_string(Grammar& grammar, const Tool& tool, CompileBudget& budget);

/// Adds the texts of a custom tool whose grammar has recursion. No terminal of the grammar writes
/// one of `marks`.
///
/// Errors: those of the tool's grammar; Error{kInvalid} if terminals can together write a mark.
NodeId add_custom_text(Grammar& grammar, const Tool& tool, std::span<const std::string> marks,
                       CompileBudget& budget);

}  // namespace ingot
