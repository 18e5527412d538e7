// Parses safetensors files: a JSON header with the table of tensors, then the tensors' bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "load/checkpoint.h"

namespace ingot {

/// A parsed safetensors file.
struct Safetensors {
  std::vector<TensorInfo> tensors;  ///< all tensors, in the order of their bytes in the file
  /// The member `__metadata__`: an object of strings, or null if it is absent.
  Json metadata;
};

/// Parses a file from its `bytes`. The tensors point into `bytes`; their `file` is `file_index`.
///
/// The tensors must cover the data section exactly: no gap, no overlap, no byte behind the last
/// tensor.
///
/// Errors: model_error for anything malformed.
/// Source: https://github.com/huggingface/safetensors, README, section "Format".
Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& file,
                              std::int32_t file_index = 0);

/// Limit on the bytes of a header. The safetensors library has an equal limit.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;
/// Limit on the bytes of a tensor's name, equal to the limit for GGUF files (kGgufNameMax).
inline constexpr std::uint64_t kTensorNameMax = 255;

}  // namespace ingot
