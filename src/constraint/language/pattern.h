// Patterns: regular expressions of ECMA-262 as used in JSON Schema, and of the `regex` constraint.
#pragma once

#include <string_view>

#include "constraint/language/text_dfa.h"

namespace ingot {

/// Where a pattern must match.
enum class Anchoring {
  kSearch,  ///< somewhere in the text, unless ^ and $ say otherwise (JSON Schema's `pattern`)
  kWhole,   ///< the whole text (the `regex` constraint)
};

/// Compiles a pattern: alternatives, groups (also named and non-capturing), classes, \d \w \s \b
/// \p, quantifiers (greedy or lazy), anchors anywhere, lookaheads and lookbehinds of regular
/// content, \u{...}, \uXXXX, \xXX, \cX. \p knows general categories, Any, ASCII and Assigned. A
/// lookbehind may not hold $, \b or a lookahead, and may not be in a lookahead.
///
/// Errors: Error{kInvalid}: "is malformed at byte 3: nothing to repeat", "is not supported at byte
/// 3:
///         a backreference"; the errors of TextDfa.
TextDfa compile_pattern(std::string_view pattern, Anchoring anchoring, CompileBudget& budget);

}  // namespace ingot
