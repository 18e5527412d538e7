// Opens Hugging Face model folders: config.json with safetensors files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "load/checkpoint.h"

namespace ingot {

/// Opens the model in a folder: config.json with model.safetensors, or with
/// model.safetensors.index.json, or else the folder's only GGUF model.
///
/// Errors: model_error that lists the expected names, or names a pickle file (not supported).
std::unique_ptr<Checkpoint> open_model_folder(const std::string& path);

/// Whether `path` is a folder. False for a path with a NUL byte, because the system would cut the
/// path there; opening such a path fails later.
bool is_folder(const std::string& path);

/// The path of a folder's only GGUF file, or of the first part of its only split model; or nothing.
///
/// Errors: model_error if the folder has several GGUF models.
std::optional<std::string> folder_gguf(const std::string& path);

}  // namespace ingot
