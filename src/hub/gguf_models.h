// Which GGUF models a list of file names holds, and which of them a user means.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

/// A GGUF model: one file, or all parts of a split one.
struct GgufModel {
  std::vector<std::string> files;  ///< in order; the first is the one to open
  /// What distinguishes it from the others in its list: its quantisation ("Q4_K_M") where only it
  /// has that one, else its first file's path.
  std::string label;
};

/// The models among `paths` (sorted): files that end in ".gguf" but for projectors ("mmproj..."),
/// which are parts of models that see. A split set that lacks a part is left out.
std::vector<GgufModel> find_gguf_models(std::span<const std::string> paths);

/// The models that `wanted` names: by path, with or without ".gguf", also that of any part, or
/// by a part of the name between '-', '.' and '/' such as the quantisation, whatever its case. A
/// label goes before other parts of names.
std::vector<GgufModel> match_gguf_models(std::span<const GgufModel> models,
                                         std::string_view wanted);

/// The labels for a message, "Q4_K_M, Q8_0": at most 24 of them.
std::string list_labels(std::span<const GgufModel> models);

}  // namespace ingot
