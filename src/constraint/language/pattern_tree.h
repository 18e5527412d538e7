// PatternTree: a parsed regular expression of ECMA-262.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/language/code_points.h"

namespace ingot {

/// One node of a parsed pattern.
struct PatternNode {
  enum class Kind : std::uint8_t {
    kSet,         ///< one code point of a set
    kSequence,    ///< all children, one after the other; without children: the empty text
    kChoice,      ///< one of the children
    kRepeat,      ///< the only child, `count_min` to `count_max` times
    kStart,       ///< ^
    kEnd,         ///< $
    kBoundary,    ///< \b; negated: \B
    kLookahead,   ///< the rest of the text begins with the only child
    kLookbehind,  ///< the text before ends with the only child
  };
  static constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

  Kind kind = Kind::kSequence;
  bool is_negated = false;
  std::size_t byte = 0;  ///< where a lookaround begins
  std::int32_t set = 0;  ///< index in PatternTree::sets
  std::uint32_t count_min = 0;
  std::uint32_t count_max = 0;
  std::vector<std::int32_t> children{};  ///< indices in PatternTree::nodes
};

/// A parsed pattern. Children come before their parents.
struct PatternTree {
  /// Groups and lookarounds may be nested this deep, so that recursion over a tree fits every
  /// stack.
  static constexpr std::size_t kDepthMax = 100;

  std::vector<PatternNode> nodes;
  std::vector<CodePoints> sets;  ///< each occurs once
  std::int32_t root = 0;
};

/// Parses a pattern as ECMA-262 does with the flag `u`, and forgives what real schemas contain:
/// needless escapes of punctuation, a literal `]`, `{` or `}`, quantified lookaheads, `-` beside
/// \d and its like in a class, `(?P<name>`.
///
/// Errors: Error{kInvalid}: "is malformed at byte ..." or "is not supported at byte ...".
PatternTree parse_pattern(std::string_view pattern, CompileBudget& budget);

}  // namespace ingot
