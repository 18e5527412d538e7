// model.safetensors.index.json: which tensor is in which shard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// Largest accepted index in bytes; an index has some 100 bytes per tensor.
inline constexpr std::uint64_t kSafetensorsIndexBytesMax = 100'000'000;

/// The content of an index: plain file names, and the file of each tensor.
struct SafetensorsIndex {
  std::vector<std::string> files;  ///< sorted, each once; safe to open beneath the folder
  /// Tensor name and its file's place in `files`, sorted by name.
  std::vector<std::pair<std::string, std::int32_t>> tensors;
  std::optional<std::uint64_t> total_size;  ///< bytes of all tensors, where the index says
};

/// Whether a name may be opened: a plain file name that ends in ".safetensors".
bool is_shard_name(std::string_view name);

/// Reads an index.
///
/// Errors: model_error for malformed JSON, a file name that is not plain, values of another type.
SafetensorsIndex parse_safetensors_index(std::string_view text, const std::string& file);

}  // namespace ingot
