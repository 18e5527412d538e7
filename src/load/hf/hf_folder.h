// Opens Hugging Face model folders: config.json with safetensors files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "load/checkpoint.h"

namespace ingot {

/// Opens the model in a folder: config.json with model.safetensors or with
/// model.safetensors.index.json. Without these files, opens the folder's only GGUF model.
///
/// Errors: model_error that lists the expected files, or names an unsupported pickle file.
std::unique_ptr<Checkpoint> open_model_folder(const std::string& path,
                                              const OpenOptions& options = {});

/// Returns whether `path` is a folder. Returns false for a path with a NUL byte, because the system
/// would cut the path at the NUL byte. Code that then opens the path as a file gets an error.
bool is_folder(const std::string& path);

/// Returns the path of a folder's only GGUF model (for a split model: the first file), or nothing.
///
/// Errors: model_error if the folder has several GGUF models.
std::optional<std::string> folder_gguf(const std::string& path);

}  // namespace ingot
