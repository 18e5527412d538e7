// Checkpoint: opens a model file or folder, and finds tensors by name.
#include "load/checkpoint.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "load/gguf/gguf.h"
#include "load/gguf/gguf_file.h"
#include "load/hf/hf_folder.h"

namespace ingot {

std::unique_ptr<Checkpoint> Checkpoint::open(const std::string& path, const OpenOptions& options) {
  if (is_folder(path)) return open_model_folder(path, options);
  if (path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json")) {
    throw model_error(path, "file", "safetensors files are opened through their folder: name that");
  }
  return open_gguf(path, options);
}

std::unique_ptr<Checkpoint> Checkpoint::open(const std::string& path,
                                             std::span<const std::byte> bytes,
                                             const OpenOptions& options) {
  return bytes.empty() ? open(path, options) : open_gguf_bytes(bytes, path, options);
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  const auto found = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [&](std::int32_t i, std::string_view wanted) { return at(tensors_, i).name < wanted; });
  if (found == by_name_.end()) return nullptr;
  const TensorInfo& tensor = at(tensors_, *found);
  return tensor.name == name ? &tensor : nullptr;
}

std::span<const GgufEntry> Checkpoint::gguf_entries() const { return {}; }

const std::string& Checkpoint::file_of(const TensorInfo& tensor) const {
  return mapped_.empty() ? name_ : at(mapped_, tensor.file).name();
}

std::vector<FileIdentity> Checkpoint::identities() const {
  std::vector<FileIdentity> all;
  for (const MappedFile& file : mapped_) all.push_back(file.identity());
  return all;
}

void Checkpoint::release(const TensorInfo& tensor) {
  if (!mapped_.empty()) at(mapped_, tensor.file).release(tensor.offset, tensor.bytes);
}

void Checkpoint::expect_unchanged() const {
  for (const MappedFile& file : mapped_) file.expect_unchanged();
}

void Checkpoint::index_tensors() {
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0);
  std::sort(by_name_.begin(), by_name_.end(), [&](std::int32_t a, std::int32_t b) {
    const int order = at(tensors_, a).name.compare(at(tensors_, b).name);
    return order != 0 ? order < 0 : a < b;
  });
  for (std::size_t i = 1; i < by_name_.size(); ++i) {
    const TensorInfo& first = at(tensors_, by_name_[i - 1]);
    const TensorInfo& second = at(tensors_, by_name_[i]);
    if (first.name != second.name) continue;
    throw model_error(file_of(second), "tensor table",
                      cat("tensor ", second.name, " is also in ", printable(file_of(first))));
  }
}

}  // namespace ingot
