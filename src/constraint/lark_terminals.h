// Terminals of Lark as GBNF: strings, ranges, regular expressions, and those of its library.
#pragma once

#include <string>
#include <string_view>

#include "constraint/lark_scanner.h"

namespace ingot {

/// Returns GBNF for a terminal of Lark's library `common`; empty if it is not known.
std::string_view lark_common(std::string_view name);

/// Takes a string, perhaps with the flag i, or a range of two strings. Returns GBNF.
///
/// Errors: LarkScanner::refuse.
std::string take_lark_string(LarkScanner& scanner);

/// An expression in GBNF.
struct LarkExpression {
  std::string gbnf;
  bool is_lazy = false;  ///< a quantifier takes little: its texts may be longer here
};

/// Takes an expression with its flags. \d, \w and \s stand for ASCII, \D and \W too. \S and
/// negated classes with \s have no white space of Unicode, those with \d and \w ASCII alone.
///
/// Errors: LarkScanner::refuse.
LarkExpression take_lark_expression(LarkScanner& scanner);

}  // namespace ingot
