// What %ignore names: which of these texts may stand anywhere, and which need an end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/compile_budget.h"
#include "constraint/language/code_points.h"

namespace ingot {

/// An alternative of a %ignore.
struct LarkIgnored {
  std::string gbnf{};
  std::ptrdiff_t line = 0;
  /// GBNF for the ignored character that has to follow, unless the text ends; empty: any may.
  std::string next{};
};

/// Finds `next` of each of `ignored`. Lark ignores as much text as it can. A grammar may take less:
/// what follows must make no difference. A line's comment may stand before an ignored line break.
/// `rules` are the GBNF rules that `ignored` uses. Returns the characters with which a text that
/// needs no end can be continued.
///
/// Errors: Error{kInvalid} that names the line of an alternative that cannot be ignored so; those
///         of add_gbnf.
CodePoints plan_lark_ignored(std::vector<LarkIgnored>& ignored, std::string_view rules,
                             CompileBudget& budget);

}  // namespace ingot
