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
  /// path if the quantisation is unknown or several models have this quantisation.
  std::string label;
};

/// The GGUF models in `paths`, which must be sorted. Files named "mmproj..." are skipped: they are
/// parts of vision models. A split model with a missing file is skipped, too.
std::vector<GgufModel> find_gguf_models(std::span<const std::string> paths);

/// The models that `wanted` names: the models that have it as a file's path (with or without
/// ".gguf"); if none, as the label; if none, as a part of the first path between '-', '.' and '/'.
/// Labels and parts match ignoring case.
std::vector<GgufModel> match_gguf_models(std::span<const GgufModel> models,
                                         std::string_view wanted);

/// Whether two texts are equal except for the case of ASCII letters.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// The first 24 labels, for a message: "Q4_K_M, Q8_0".
std::string list_labels(std::span<const GgufModel> models);

}  // namespace ingot
