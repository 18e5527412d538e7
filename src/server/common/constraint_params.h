// Constraints of a request: reads the members that say which texts the model may write.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "constraint/constraint.h"
#include "server/common/params.h"

namespace ingot {

/// Reads a constraint from `response_format`, `structured_outputs`, guided_json, guided_regex,
/// guided_choice, guided_grammar, `grammar` and `json_schema`. `property_order` goes with schemas.
/// ConstraintSpec::name is the member that holds the constraint. Returns nothing if the request has
/// no constraint, or the format "text".
///
/// Errors: ApiError that names the member; if there are several constraints, that names two.
std::optional<ConstraintSpec> read_constraint(Params& params);

/// Reads one output format from the member `name`, which must be an object: the types are text,
/// json_object, json_schema, regex, grammar and structural_tag. The schema is in the format itself
/// or in its member json_schema. Returns nothing if the member is absent or the type is text.
/// `is_strict`: whether a schema is strict if the format does not say so.
///
/// Errors: ApiError that names the member.
std::optional<ConstraintSpec> read_output_format(Params& params, std::string_view name,
                                                 bool is_strict = false);

/// Adds a warning "not_enforced" for each note. `param`: the member that holds the schema.
void warn_of_notes(Params& params, const std::vector<SchemaNote>& notes, std::string_view param);

}  // namespace ingot
