// Chooses which files of a hub repository make up a model, and which file to open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ingot {

/// The files of a chosen model.
struct ModelFiles {
  std::vector<std::string> paths;
  /// The path to open, relative to the snapshot: a GGUF file, or empty for the snapshot's folder.
  std::string opened;
  /// Path of an index that names more files (shards); also in `paths`. Empty if there is none.
  std::string index;
};

/// Chooses a model from the sorted `paths` of a repository. If `wanted` is set: the GGUF model
/// that it names (match_gguf_models), or the file with this path. Otherwise: the safetensors model
/// with its configuration and tokenizer, or else the only GGUF model. Nothing if there is no model.
///
/// `name` is the repository's name, for messages.
/// Errors: Error{kInvalid} if there are several models; the message lists their names.
std::optional<ModelFiles> choose_model_files(std::span<const std::string> paths,
                                             const std::string& name, std::string_view wanted);

/// The error that says why `choose_model_files` returned nothing.
Error no_model_error(std::span<const std::string> paths, const std::string& name,
                     std::string_view wanted);

/// Whether a folder with these sorted `paths` can be opened as a safetensors model.
bool holds_safetensors_model(std::span<const std::string> paths);

}  // namespace ingot
