// Lark: translates grammars in Lark's notation to GBNF.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// Returns a GBNF text with the language of the rule `start`. Translates rules, terminals, strings,
/// ranges, regular expressions without assertions, groups, `*`, `+`, `?`, `~`, the flags i and s,
/// rules that begin with themselves, and terminals that are imported from `common`. What `%ignore`
/// names may stand before each terminal of a rule and at the end, as Lark's dynamic lexer has it:
/// single characters, their repetitions, and texts that have an end of their own.
/// Does not check names, or what GBNF cannot have: see add_gbnf.
///
/// Errors: Error{kInvalid} that names the line and what cannot be translated: other directives,
///         templates, other flags, assertions.
/// Source: the reference of Lark, "Grammar Reference", and its library common.
std::string gbnf_of_lark(std::string_view lark);

}  // namespace ingot
