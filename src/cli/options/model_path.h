// MODEL as the command line takes it: a path, the name of a model that was pulled, or the built-in
// one's.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "load/checkpoint.h"

namespace ingot {

/// Where a model is: its path or, where `bytes` has the file itself, the name of that.
struct ModelPlace {
  std::string path;
  std::span<const std::byte> bytes{};
};

/// The place that MODEL stands for: where it is not given the built-in model, which is said in one
/// line. What exists is a path; a name is looked up in the hub's cache, and then compared with the
/// built-in model's; all else is left as it is, for opening it to say what is wrong.
///
/// Errors: model_error for a name that is nowhere; Error{kInvalid} for one that fits several
/// models.
ModelPlace find_model(const std::optional<std::string>& given);

}  // namespace ingot
