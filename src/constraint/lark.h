// Lark: translates grammars in Lark's notation to GBNF.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// Returns a GBNF text with the language of the rule `start`. Translates rules, terminals, strings,
/// ranges, regular expressions without assertions, groups, `*`, `+`, `?`, `~`, and terminals that
/// are imported from `common`. Does not check names, or what GBNF cannot have: see add_gbnf.
///
/// Errors: Error{kInvalid} that names the line and what cannot be translated: `%ignore` and other
///         directives, templates, flags, assertions.
/// Source: the reference of Lark, "Grammar Reference".
std::string gbnf_of_lark(std::string_view lark);

}  // namespace ingot
