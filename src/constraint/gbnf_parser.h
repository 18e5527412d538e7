// GbnfRules: the rules of a GBNF text as a tree of parts, and the parser that makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/language/code_points.h"

namespace ingot {

/// A part of a rule. Parts lie in a list in which children come before their parent.
struct GbnfPart {
  enum class Kind {
    kText,      ///< `text`
    kClass,     ///< one of `characters`
    kRule,      ///< the rule with index `rule`
    kSequence,  ///< `children` one after the other; without children: the empty text
    kChoice,    ///< one of `children`
    kRepeat,    ///< children[0], `count_min` to `count_max` times
  };
  Kind kind = Kind::kSequence;
  std::string text{};  ///< valid UTF-8, not empty
  CodePoints characters{};
  std::uint32_t rule = 0;
  std::vector<std::uint32_t> children{};
  std::uint64_t count_min = 1;
  std::uint64_t count_max = 1;  ///< kUnlimited: no limit
  std::size_t offset = 0;       ///< byte of the text at which the part begins
  std::int32_t height = 0;      ///< 0 for a part without children
};

/// A named rule.
struct GbnfRule {
  std::string name;
  std::uint32_t first = 0;  ///< its parts are [first, body]
  std::uint32_t body = 0;
  std::size_t offset = 0;  ///< byte of the definition
  bool is_defined = false;
};

/// The rules of a text. Each rule that a part names is defined.
struct GbnfRules {
  std::vector<GbnfPart> parts;
  std::vector<GbnfRule> rules;
  std::uint32_t root = 0;
};

/// Returns the error of a text: "line 2, column 5: <reason>".
Error gbnf_error(std::string_view text, std::size_t offset, std::string_view reason);

/// Parses a GBNF text.
///
/// Errors: gbnf_error for malformed syntax, undefined rules and exceeded limits; those of
///         CompileBudget.
GbnfRules parse_gbnf(std::string_view text, CompileBudget& budget);

}  // namespace ingot
