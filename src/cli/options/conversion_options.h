// What commands that write models share: --type, and the sampling defaults that files keep.
#pragma once

#include <string>
#include <vector>

#include "convert/recipe.h"
#include "convert/sampling_values.h"

namespace ingot {

/// Returns the names of all recipes, for the help.
std::string recipe_names();
/// Returns the recipe that --type names. Errors: Error{kInvalid}.
const Recipe& recipe_option(const std::string& name);

/// Returns the request fields that model files have defaults for.
std::vector<SamplingKey> sampling_keys();

}  // namespace ingot
