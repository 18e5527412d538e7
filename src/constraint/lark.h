// Lark: translates grammars in Lark's notation to GBNF.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "constraint/compile_budget.h"

namespace ingot {

/// A grammar in GBNF.
struct LarkTranslation {
  std::string gbnf;
  /// Why the grammar also allows texts that Lark refuses; empty: it allows none.
  std::vector<std::string> notes{};
};

/// Translates the language of the rule `start`: rules, terminals, strings, ranges, regular
/// expressions without assertions, groups, `*`, `+`, `?`, `~`, the flags i and s, rules that begin
/// with themselves, and terminals that are imported from `common`. What `%ignore` names may stand
/// before each terminal of a rule and at the end: single characters, their repetitions, texts that
/// have an end of their own, and comments up to an ignored line break.
///
/// A terminal is any of its texts, as in Lark's lexer `dynamic_complete`. Lark's default,
/// `dynamic`, takes the longest text of a terminal. llguidance, whose dialect OpenAI's custom tools
/// take, takes the longest text of all terminals that may stand at a place. A note says where the
/// longest text of one terminal may make a difference. If several terminals begin alike, a reply
/// may have each of them. A comment may not stand before a terminal that begins with a line break.
///
/// \d, \w and \s stand for characters of ASCII. \D and \W too, and a negated class with \d or \w;
/// \S has none of Unicode's white space. So each allows only what it allows in Lark.
///
/// Errors: Error{kInvalid} that names the line and what cannot be translated: other directives,
///         templates, other flags, assertions; those of add_gbnf.
/// Source: the reference of Lark, "Grammar Reference" and "Parsers", and its library common;
///         llguidance, docs/syntax.md.
LarkTranslation translate_lark(std::string_view lark, CompileBudget& budget);

}  // namespace ingot
