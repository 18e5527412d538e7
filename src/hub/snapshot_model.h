// What in a repository is a model: the files it needs, and what of them is opened.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ingot {

/// The files of a repository that make the model a user named.
struct ModelFiles {
  std::vector<std::string> paths;
  /// What is opened, below the snapshot: a GGUF file, or empty for the snapshot's folder.
  std::string opened;
  /// The index among `paths` that names further files (shards), or empty.
  std::string index;
};

/// Chooses among `paths` (sorted) of a repository. With `wanted`, the GGUF model that it names
/// (match_gguf_models) or the file of that path. Without it, the safetensors model where there is
/// one, with what belongs into its folder; else the one GGUF model there is. Nothing when there is
/// no such thing.
///
/// `name` is the repository's, for messages.
/// Errors: Error{kInvalid} listing what can be named when there are several.
std::optional<ModelFiles> choose_model_files(std::span<const std::string> paths,
                                             const std::string& name, std::string_view wanted);

/// The error that says why nothing could be chosen.
Error no_model_error(std::span<const std::string> paths, const std::string& name,
                     std::string_view wanted);

/// Whether the folder of these files can be opened as a model with safetensors.
bool holds_safetensors_model(std::span<const std::string> paths);

}  // namespace ingot
