// Checkpoint: opens a model's files (GGUF or safetensors), and gives its configuration and tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/view.h"
#include "load/config.h"
#include "load/json.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

struct GgufEntry;

/// One tensor of a checkpoint. Its bytes lie inside the file; name and shape are not checked here.
struct TensorInfo {
  std::string name;
  std::vector<std::int64_t> shape;  ///< row-major, outermost first
  std::string type_name;            ///< as the file spells it: "Q4_K", "BF16", "I64"
  std::optional<Format> format;  ///< absent for types that ingot does not compute with (I64, ...)
  const std::byte* data = nullptr;  ///< points into the mapped file
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< byte offset in the file
  std::int32_t file = 0;     ///< index of the file among all files with tensors

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t dim : shape) n *= dim;
    return n;
  }
};

/// An opened model: GGUF (single or split) or a Hugging Face folder with safetensors.
///
/// Immutable after opening. The tensors' bytes are views of mapped files and live as long as the
/// checkpoint. After reading tensors, call `expect_unchanged`, which fails if a file has changed.
class Checkpoint {
 public:
  /// Opens a GGUF file, any file of a split GGUF model, or a folder.
  ///
  /// Errors: Error{kModel} in the form of model_error for anything missing, malformed or not
  /// supported.
  static std::unique_ptr<Checkpoint> open(const std::string& path);
  /// Opens a GGUF file from bytes in memory, which must outlive the checkpoint; `path` is the
  /// file's name in messages. If `bytes` is empty, opens the file at `path`.
  static std::unique_ptr<Checkpoint> open(const std::string& path,
                                          std::span<const std::byte> bytes);

  virtual ~Checkpoint() = default;

  const std::string& name() const { return name_; }
  const Config& config() const { return config_; }
  /// All tensors, in the order of the files.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  /// The tensor of this name, or null.
  const TensorInfo* find(std::string_view name) const;
  /// The tokenizer; null if the files have no tokenizer, or a tokenizer of an unknown kind.
  const TokenizerData* tokenizer() const { return tokenizer_.get(); }
  /// Key-value pairs of the metadata for display, in file order. Long values are shortened.
  std::span<const std::pair<std::string, Json>> metadata() const { return metadata_; }
  /// Paths of all files that were read; empty if the bytes came from memory.
  std::span<const std::string> files() const { return files_; }
  /// The key-value pairs of a GGUF file (the first file of a split model) as stored, in order.
  /// Empty for a folder with safetensors.
  virtual std::span<const GgufEntry> gguf_entries() const;
  /// Warnings from opening the files (assumptions, ignored values), one line each, for stderr.
  std::span<const std::string> warnings() const { return warnings_; }

  /// The path of the file that holds a tensor, for messages.
  const std::string& file_of(const TensorInfo& tensor) const;
  /// Size, time and inode of each file with tensors, as they were at opening; empty if the bytes
  /// came from memory.
  std::vector<FileIdentity> identities() const;
  /// Returns a tensor's mapped pages to the system. Call it after the tensor's last read.
  void release(const TensorInfo& tensor);
  /// Throws Error{kIo} if a file has changed since opening (see is_same_state).
  void expect_unchanged() const;

 protected:
  /// Builds the index by name.
  ///
  /// Errors: model_error if two tensors have the same name.
  void index_tensors();

  std::string name_;
  Config config_;
  std::vector<TensorInfo> tensors_;
  std::vector<MappedFile> mapped_;  ///< all files with tensors; empty if the bytes are in memory
  std::unique_ptr<TokenizerData> tokenizer_;
  std::vector<std::pair<std::string, Json>> metadata_;
  std::vector<std::string> files_;
  std::vector<std::string> warnings_;

 private:
  std::vector<std::int32_t> by_name_;
};

}  // namespace ingot
