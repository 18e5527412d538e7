// Checkpoint: opens a model file or folder, and finds tensors by name.
#include "load/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "base/error.h"
#include "load/gguf/gguf.h"
#include "load/gguf/gguf_file.h"
#include "load/hf/hf_folder.h"

namespace ingot {

namespace {

/// Whether `path` is a folder. The system would cut a path at a NUL; opening such a file fails
/// later.
bool is_folder(const std::string& path) {
  std::error_code ignored;
  return path.find('\0') == std::string::npos && std::filesystem::is_directory(path, ignored);
}

}  // namespace

std::unique_ptr<Checkpoint> Checkpoint::open(const std::string& path) {
  if (is_folder(path)) return open_model_folder(path);
  if (path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json")) {
    throw model_error(path, "file", 0,
                      "safetensors files are opened through their folder: name that");
  }
  return open_gguf(path);
}

std::unique_ptr<Checkpoint> Checkpoint::open(const std::string& path,
                                             std::span<const std::byte> bytes) {
  return bytes.empty() ? open(path) : open_gguf_bytes(bytes, path);
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](std::int32_t i, std::string_view wanted) {
                                     return tensors_[static_cast<std::size_t>(i)].name < wanted;
                                   });
  if (at == by_name_.end()) return nullptr;
  const TensorInfo& tensor = tensors_[static_cast<std::size_t>(*at)];
  return tensor.name == name ? &tensor : nullptr;
}

std::span<const GgufEntry> Checkpoint::gguf_entries() const { return {}; }

void Checkpoint::index_tensors() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  std::sort(by_name_.begin(), by_name_.end(), [&](std::int32_t a, std::int32_t b) {
    return tensors_[static_cast<std::size_t>(a)].name < tensors_[static_cast<std::size_t>(b)].name;
  });
}

}  // namespace ingot
