// Structural tags: reads constraints in which free text holds tags with constrained contents.
#pragma once

#include <string>

#include "constraint/constraint.h"
#include "load/json.h"
#include "server/common/params.h"

namespace ingot {

/// Reads structural tags, from an object or from its JSON text: {"structures": [{"begin", "schema",
/// "end"}], "triggers": [...]}, or {"format": {"type": "triggered_tags", "tags": [{"begin",
/// "content": {"type": "json_schema", "json_schema"}, "end"}], "triggers": [...]}}.
///
/// Warns about members that it does not know. Errors: ApiError that names the member below `place`,
/// also if no trigger begins a tag, or a trigger begins no tag.
ConstraintSpec read_structural_tags(Params& params, const std::string& place, const Json& value);

}  // namespace ingot
