// Finds MODEL: a path, the name of a downloaded model, or the built-in model.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "load/checkpoint.h"

namespace ingot {

/// Where a model is: at `path` on disk; or in memory in `bytes`, with the model's name in `path`.
struct ModelPlace {
  std::string path;
  std::span<const std::byte> bytes{};
};

/// Finds MODEL. If MODEL is absent, uses the built-in model and logs that. Tries an existing path,
/// then a name or an address in the hub's cache, then the built-in model's name. Logs which of
/// several quantisations it takes. If the text cannot be a name, returns the text as a path, so
/// that opening the path reports the error.
///
/// Errors: model_error for an unknown name; Error{kInvalid} for a name that several models have,
/// and for an address that is not a model's.
ModelPlace find_model(const std::optional<std::string>& given);

}  // namespace ingot
