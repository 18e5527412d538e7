// MODEL as the command line takes it: a path, or the name of a model that was pulled.
#pragma once

#include <string>

namespace ingot {

/// The path that MODEL stands for. What exists is a path; a name is looked up in the hub's cache;
/// all else is left as it is, for opening it to say what is wrong.
///
/// Errors: model_error for a name that is not in the cache; Error{kInvalid} for one that fits
/// several models.
std::string resolve_model(const std::string& model);

}  // namespace ingot
