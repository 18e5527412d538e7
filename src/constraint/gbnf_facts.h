// GbnfFacts: facts about each part of a GBNF text, found before the text is compiled.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "constraint/gbnf_parser.h"

namespace ingot {

/// Facts about parts and rules, by their index.
struct GbnfFacts {
  /// Whether a part is without recursion. Then its texts are a regular language.
  std::vector<bool> is_regular;
  /// Whether the empty text is one of a part's texts.
  std::vector<bool> is_nullable;
  /// Whether the empty text is a part's only text.
  std::vector<bool> is_only_empty;
  /// About the number of characters of a regular part as a pattern in which all rules and
  /// repetitions are written out. At most kWeightMax.
  std::vector<std::uint64_t> weight;
  static constexpr std::uint64_t kWeightMax = 1'000'000;
  /// The height of a regular part in which all rules are written out.
  std::vector<std::int32_t> full_height;
};

/// Finds the facts and checks the rules.
///
/// Errors: gbnf_error for left recursion and for a repeated empty text; those of CompileBudget.
GbnfFacts find_gbnf_facts(const GbnfRules& rules, std::string_view text, CompileBudget& budget);

}  // namespace ingot
