// Finds MODEL: a path, the name of a downloaded model, or the built-in model.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "load/checkpoint.h"

namespace ingot {

/// Where a model is: a path, or the bytes of a file in memory and its name as `path`.
struct ModelPlace {
  std::string path;
  std::span<const std::byte> bytes{};
};

/// Finds MODEL. If absent, it is the built-in model, with a log line. An existing path wins, then a
/// name in the hub's cache, then the built-in model's name. A text that cannot be a name is
/// returned as a path, so that opening it reports the error.
///
/// Errors: model_error for an unknown name; Error{kInvalid} for a name that several models have.
ModelPlace find_model(const std::optional<std::string>& given);

}  // namespace ingot
