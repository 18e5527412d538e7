// Finds GGUF models in a list of file names, and selects the one that a user names.
#pragma once

#include <optional>
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
  /// As the file's name spells it, or else its folder's ("Q4_K_M/m.gguf"); empty if neither does.
  std::string quantization{};
};

/// Finds the GGUF models in `paths`, which must be sorted. Skips parts of vision models (a word of
/// the name is "mmproj"), importance matrices ("imatrix", and no quantisation at the end), and
/// split models with a missing file.
std::vector<GgufModel> find_gguf_models(std::span<const std::string> paths);

/// Returns the models that `wanted` names. Compares `wanted` with file paths (".gguf" is optional),
/// then with labels, then with quantisations and with the words of each first path, separated by
/// '-', '.' and '/'. Stops at the first comparison that matches a model. Labels and words match
/// ignoring case.
std::vector<GgufModel> match_gguf_models(std::span<const GgufModel> models,
                                         std::string_view wanted);

/// Chooses one of several quantisations of one model. Prefers 4 bits, then 5, 6, 8, 3, 16, 2, 1 and
/// 32 bits: below 4 bits the quality drops, and above 4 bits the size grows more than the quality.
/// Among equal bits, prefers K_M, K_S, K_L, K_XL, K, 0, 1, NL, XS. Takes a quantisation without a
/// kernel last.
///
/// Returns nothing if the names of files or folders differ in more than the quantisation, or if two
/// have none: the models are different ones. Source: the first choice, Q4_K_M, is that of llama.cpp
/// and of the hub's own pages.
std::optional<GgufModel> default_gguf_model(std::span<const GgufModel> models);

/// Lists up to 24 labels and counts the rest, for a message: "Q4_K_M, Q8_0 and 3 more".
std::string list_labels(std::span<const GgufModel> models);

}  // namespace ingot
