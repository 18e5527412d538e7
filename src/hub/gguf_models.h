// Finds the GGUF models in a list of file names, and the one that a user names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A GGUF model: one file, or all files of a split model.
struct GgufModel {
  std::vector<std::string> files;  ///< in order; the first is the one to open
  /// Tells it apart in its list: its quantisation ("Q4_K_M") where no other model has it, else its
  /// first file's path.
  std::string label;
};

/// The models among `paths` (sorted): files that end in ".gguf", except projectors ("mmproj..."),
/// which are parts of vision models. A split model with a missing file is left out.
std::vector<GgufModel> find_gguf_models(std::span<const std::string> paths);

/// The models that `wanted` names: by the path of any of its files, with or without ".gguf", or by
/// a part of the name between '-', '.' and '/', such as the quantisation, in any case. Labels match
/// before other parts of names.
std::vector<GgufModel> match_gguf_models(std::span<const GgufModel> models,
                                         std::string_view wanted);

/// The labels for a message, "Q4_K_M, Q8_0": at most 24 of them.
std::string list_labels(std::span<const GgufModel> models);

}  // namespace ingot
