// Structural tags: free text in which tags hold constrained text.
#pragma once

#include <string>
#include <vector>

#include "constraint/constraint.h"

namespace ingot {

/// Adds the texts of structural tags: free text in which no trigger occurs; then a trigger, the
/// rest of a tag's begin, a text of its schema, its end; and so on. Notes point into the list
/// "structures" of the request: "/structures/0/schema/...".
///
/// Errors: Error{kInvalid}: no tag, a begin without a trigger, an unused trigger, a trigger inside
///         another one, more than 16 triggers that overlap; those of `add_json_schema` and
///         CompileBudget.
NodeId add_structural_tags(Grammar& grammar, const ConstraintSpec::StructuralTags& form,
                           const std::string& name, std::vector<SchemaNote>& notes,
                           CompileBudget& budget);

}  // namespace ingot
