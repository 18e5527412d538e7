// Finds GGUF models in a list of file names, and selects the one that a user names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A GGUF model: one file, or all files of a split model.
struct GgufModel {
  std::vector<std::string> files;  ///< paths in the order of the parts; open the first path
  /// A name that no other model of the list has: the quantisation ("Q4_K_M"), or the first file's
  /// path if the quantisation is unknown or several models have it.
  std::string label;
};

/// Finds the GGUF models in `paths`, which must be sorted. Skips files named "mmproj...", which are
/// parts of vision models. Also skips a split model with a missing file.
std::vector<GgufModel> find_gguf_models(std::span<const std::string> paths);

/// Returns the models that `wanted` names. Compares `wanted` with file paths (".gguf" is optional),
/// then with labels, then with the words of each first path, separated by '-', '.' and '/'. Stops
/// at the first comparison that matches a model. Labels and words match ignoring case.
std::vector<GgufModel> match_gguf_models(std::span<const GgufModel> models,
                                         std::string_view wanted);

/// Returns whether two texts are equal, ignoring the case of ASCII letters.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// Lists up to 24 labels and counts the rest, for a message: "Q4_K_M, Q8_0 and 3 more".
std::string list_labels(std::span<const GgufModel> models);

}  // namespace ingot
