// The safetensors container: a JSON table of tensors in front of their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "load/checkpoint.h"

namespace ingot {

/// The content of a safetensors file.
struct Safetensors {
  std::vector<TensorInfo> tensors;  ///< in the order of their bytes
  /// The `__metadata__` member: an object of strings, or null where there is none.
  Json metadata;
};

/// Reads the table of a whole file `bytes`; the tensors' data point into it.
///
/// The tensors cover the data section exactly: no hole, no overlap, no byte behind the last one.
/// Each tensor's `file` becomes `file_index`.
///
/// Errors: model_error for anything malformed.
/// Source: https://github.com/huggingface/safetensors, README, section "Format".
Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& file,
                              std::int32_t file_index = 0);

/// Longest accepted header.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;
/// Longest accepted tensor name in bytes.
inline constexpr std::uint64_t kTensorNameMax = 255;

}  // namespace ingot
