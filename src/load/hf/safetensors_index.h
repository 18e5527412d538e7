// Parses model.safetensors.index.json: which file (shard) holds which tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// Limit on the bytes of an index. Real indexes have some 100 bytes per tensor.
inline constexpr std::uint64_t kSafetensorsIndexBytesMax = 100'000'000;

/// A parsed index: the files, and the file of each tensor.
struct SafetensorsIndex {
  std::vector<std::string> files;  ///< plain file names (is_shard_name), sorted, without duplicates
  /// Name of each tensor and its file's index in `files`, sorted by name.
  std::vector<std::pair<std::string, std::int32_t>> tensors;
  std::optional<std::uint64_t> total_size;  ///< bytes of all tensors, if the index has this number
};

/// Whether a name is safe to open: a plain file name, without folders, that ends in ".safetensors".
bool is_shard_name(std::string_view name);

/// Parses an index.
///
/// Errors: model_error for malformed JSON, a value of a wrong type, or a name that is not safe.
SafetensorsIndex parse_safetensors_index(std::string_view text, const std::string& file);

}  // namespace ingot
