// Opens Hugging Face folders: config.json beside safetensors files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "load/checkpoint.h"

namespace ingot {

/// Opens the model in a folder: config.json with model.safetensors, else with
/// model.safetensors.index.json, else the folder's one GGUF file or split set.
///
/// Errors: model_error that lists the names it looked for; pickle files are named and refused.
std::unique_ptr<Checkpoint> open_model_folder(const std::string& path);

/// The path of a folder's one GGUF file (or of a file of its one split set), or nothing.
///
/// Errors: model_error when there are several.
std::optional<std::string> folder_gguf(const std::string& path);

}  // namespace ingot
