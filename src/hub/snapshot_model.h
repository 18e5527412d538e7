// Chooses the files of a repository that make a model, and the file to open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ingot {

/// The files of the model that a user named.
struct ModelFiles {
  std::vector<std::string> paths;
  /// The path to open, below the snapshot: a GGUF file, or empty for the snapshot's folder.
  std::string opened;
  /// The index among `paths` that names further files (shards), or empty.
  std::string index;
};

/// Chooses from the `paths` (sorted) of a repository. With `wanted`: the GGUF model that it names
/// (match_gguf_models), or the file with that path. Without: the safetensors model with its
/// companion files, else the only GGUF model. Nothing when the repository has no such model.
///
/// `name` is the repository's, for messages.
/// Errors: Error{kInvalid} listing the possible names when there are several models.
std::optional<ModelFiles> choose_model_files(std::span<const std::string> paths,
                                             const std::string& name, std::string_view wanted);

/// The error that says why no model could be chosen.
Error no_model_error(std::span<const std::string> paths, const std::string& name,
                     std::string_view wanted);

/// Whether a folder with these files can be opened as a safetensors model.
bool holds_safetensors_model(std::span<const std::string> paths);

}  // namespace ingot
