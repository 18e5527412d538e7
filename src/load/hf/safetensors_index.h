// Parses model.safetensors.index.json: which file (shard) holds which tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

/// Limit on the bytes of an index. A real index has about 100 bytes per tensor.
inline constexpr std::uint64_t kSafetensorsIndexBytesMax = 100'000'000;

/// A parsed index: all files, and for each tensor the file that holds it.
struct SafetensorsIndex {
  std::vector<std::string> files;  ///< plain file names (is_shard_name), sorted, without duplicates
  /// For each tensor, its name and the index of its file in `files`; sorted by name.
  std::vector<std::pair<std::string, std::int32_t>> tensors;
  /// Bytes of all tensors, which the tensors state themselves. Absent if the index has no size.
  std::optional<std::uint64_t> total_size;
  std::string odd_total_size;  ///< what stands in place of the size: "a string"; otherwise empty
};

/// Returns whether a name is safe to open: a file name without folders, ending in ".safetensors".
bool is_shard_name(std::string_view name);

/// Parses an index, and checks that its file names are safe to open.
///
/// Errors: model_error for malformed JSON, a value of a wrong type, or an unsafe file name.
SafetensorsIndex parse_safetensors_index(std::string_view text, const std::string& file);

}  // namespace ingot
