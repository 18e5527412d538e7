// Finds MODEL: a path, the name of a downloaded model, or the built-in model.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "load/checkpoint.h"

namespace ingot {

/// The place of a model: a path, or the bytes of a file in memory; then `path` is the file's name.
struct ModelPlace {
  std::string path;
  std::span<const std::byte> bytes{};
};

/// Finds MODEL. If MODEL is absent, uses the built-in model and logs that. Tries an existing path,
/// then a name in the hub's cache, then the built-in model's name. A text that cannot be a name is
/// returned as a path, so that opening it reports the error.
///
/// Errors: model_error for an unknown name; Error{kInvalid} for a name that several models have.
ModelPlace find_model(const std::optional<std::string>& given);

}  // namespace ingot
