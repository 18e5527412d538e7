// Chooses which files of a hub repository make up a model, and which file to open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "hub/model_name.h"

namespace ingot {

/// The files of a chosen model.
struct ModelFiles {
  std::vector<std::string> paths;
  /// The path to open, relative to the snapshot: a GGUF file, or empty for the snapshot's folder.
  std::string opened;
  /// Path of an index that names more files (shards); also in `paths`. Empty if there is none.
  std::string index;
  std::string
      note{};  ///< which of several quantisations was taken, and the others; empty: no choice
};

/// Chooses a model of `name` from the sorted `paths`: the GGUF model that `name.file` means
/// (match_gguf_models), else the file of this path. If `name.file` is empty, chooses the
/// safetensors model with configuration and tokenizer, else the only GGUF model, else
/// default_gguf_model. Returns nothing if there is no such model.
///
/// Errors: Error{kInvalid} if several different models match; the message lists their names.
std::optional<ModelFiles> choose_model_files(std::span<const std::string> paths,
                                             const ModelName& name);

/// Makes the error that says why `choose_model_files` returned nothing.
Error no_model_error(std::span<const std::string> paths, const std::string& name,
                     std::string_view wanted);

/// Returns whether a folder with these sorted `paths` can be opened as a safetensors model.
bool holds_safetensors_model(std::span<const std::string> paths);

}  // namespace ingot
