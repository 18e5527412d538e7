// Formats of custom tools: which texts a tool takes that has no JSON arguments.
#pragma once

#include <string>

#include "constraint/compile_budget.h"
#include "load/json.h"
#include "server/common/params.h"
#include "text/chat/tools/tool.h"

namespace ingot {

/// Reads the `format` of a custom tool: {"type": "text"}, or {"type": "grammar"} with "syntax"
/// (regex, gbnf, lark) and "definition", which a member "grammar" may hold. A lark grammar that
/// cannot be translated gives free text, with the warning "not_enforced". All translations of a
/// request spend from `budget`; without it, grammars give free text too.
///
/// Errors: ApiError that names the member.
void read_custom_format(Params& params, const std::string& place, const Json& format, Tool& tool,
                        CompileBudget& budget);

}  // namespace ingot
