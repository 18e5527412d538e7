// GBNF: compiles grammars in llama.cpp's notation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/grammar.h"

namespace ingot {

/// Limits on a GBNF text.
struct GbnfLimits {
  static constexpr std::size_t kBytesMax = 65'536;
  static constexpr std::size_t kRulesMax = 4096;
  static constexpr std::int32_t kDepthMax = 256;       ///< groups and repetitions in each other
  static constexpr std::uint64_t kCountMax = 100'000;  ///< a count in braces, such as {n,m}
};

/// Adds the rules of a GBNF text to `grammar` and returns the node of its rule `root`. Parts
/// without recursion become single languages where they fit.
///
/// A rule name may also have underscores, and a line may begin with '|'. Any character may follow a
/// backslash if it is ASCII punctuation. Tokens (`<think>`, `<[1000]>`) are refused.
///
/// Errors: Error{kInvalid} that names line and column: syntax, undefined rules, left recursion, a
///         repeated empty text, exceeded GbnfLimits; Error{kInvalid} "allows only the empty text";
///         those of TextDfa and CompileBudget.
/// Source: llama.cpp, grammars/README.md.
NodeId add_gbnf(Grammar& grammar, std::string_view text, CompileBudget& budget);

/// Returns the texts of a GBNF text as one language; nothing if it has recursion or does not fit.
///
/// Errors: those of add_gbnf.
std::optional<TextDfa> gbnf_language(std::string_view text, CompileBudget& budget);

/// Returns the texts of each rule in `names`; nothing if a rule is not defined, has recursion or
/// does not fit.
///
/// Errors: those of add_gbnf.
std::vector<std::optional<TextDfa>> gbnf_rule_languages(std::string_view text,
                                                        std::span<const std::string> names,
                                                        CompileBudget& budget);

}  // namespace ingot
