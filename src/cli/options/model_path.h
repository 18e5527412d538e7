// Finding MODEL: a path, the name of a pulled model, or the built-in model.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "load/checkpoint.h"

namespace ingot {

/// Where a model is: a path, or the bytes of a file with its name as `path`.
struct ModelPlace {
  std::string path;
  std::span<const std::byte> bytes{};
};

/// The place of MODEL. Without MODEL it is the built-in model, with a note. An existing path wins;
/// then come the names in the hub's cache, then the built-in model's name. Any other text is
/// returned as a path, so that opening it says what is wrong.
///
/// Errors: model_error for a name that is not found; Error{kInvalid} for a name of several models.
ModelPlace find_model(const std::optional<std::string>& given);

}  // namespace ingot
