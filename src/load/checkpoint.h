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
#include "load/embedder.h"
#include "load/json.h"
#include "load/load_notes.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

struct GgufEntry;

/// A tensor of a checkpoint, inside the file's bounds. bind_model checks the name and the shape.
struct TensorInfo {
  std::string name;
  std::vector<std::int64_t> shape;  ///< sizes of the dimensions, outermost first (row-major)
  std::string type_name;            ///< name of the type in the file: "Q4_K", "BF16", "I64"
  std::optional<Format> format;     ///< weight format; absent if ingot cannot use the type (I64)
  const std::byte* data = nullptr;  ///< first byte of the tensor, in the mapped file or in memory
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< offset of the tensor in the file, in bytes
  std::int32_t file = 0;     ///< index of the file among all files with tensors

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t dim : shape) n *= dim;
    return n;
  }
};

/// How to open a model.
struct OpenOptions {
  /// Keys of the model's files that only cause a warning, although ingot does not know or apply
  /// them, and although they may change results.
  std::span<const std::string> accept_unknown{};
};

/// An open model: GGUF (single or split) or a Hugging Face folder with safetensors.
///
/// Immutable after opening. The tensors' bytes are views of mapped files and live as long as the
/// checkpoint. After reading tensors, call `expect_unchanged`, which fails if a file has changed.
class Checkpoint {
 public:
  /// Opens a model: a GGUF file, any file of a split GGUF model, or a Hugging Face folder.
  ///
  /// Errors: model_error (code kModel) if a file or a value is missing, malformed or not
  /// supported.
  static std::unique_ptr<Checkpoint> open(const std::string& path, const OpenOptions& options = {});
  /// Opens a GGUF file from `bytes`, which must outlive the checkpoint. Messages use `path` as the
  /// file's name. If `bytes` is empty, opens the file at `path`.
  static std::unique_ptr<Checkpoint> open(const std::string& path, std::span<const std::byte> bytes,
                                          const OpenOptions& options = {});

  virtual ~Checkpoint() = default;

  const std::string& name() const { return name_; }
  const Config& config() const { return config_; }
  /// Returns all tensors, file after file.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  /// Returns the tensor with this name, or null.
  const TensorInfo* find(std::string_view name) const;
  /// Returns the tokenizer; null if the files have no tokenizer of a known kind.
  const TokenizerData* tokenizer() const { return tokenizer_.get(); }
  /// Returns what the files say about texts of an embedder or a cross-encoder.
  const EmbedderSettings& embedder() const { return embedder_; }
  /// Returns the metadata as key-value pairs for display, in file order. Shortens long values.
  std::span<const std::pair<std::string, Json>> metadata() const { return metadata_; }
  /// Returns the paths of the configuration and tensor files; empty if the bytes are in memory.
  std::span<const std::string> files() const { return files_; }
  /// Returns the stored key-value pairs of a GGUF file, in file order. For a split model, these are
  /// the first file's pairs. A folder with safetensors has no pairs.
  virtual std::span<const GgufEntry> gguf_entries() const;
  /// Returns warnings from opening the files (ignored values), each as one line.
  std::span<const std::string> warnings() const { return notes_.warnings(); }
  /// Returns lines on which no user can act (defaults of the file format), for `ingot inspect`.
  std::span<const std::string> details() const { return notes_.details(); }

  /// Returns the path of the file that holds `tensor`, for messages.
  const std::string& file_of(const TensorInfo& tensor) const;
  /// Returns size, time and inode of each file with tensors, as they were at opening; empty if the
  /// bytes are in memory.
  std::vector<FileIdentity> identities() const;
  /// Releases a tensor's memory pages to the system. Call it after the tensor's last read.
  void release(const TensorInfo& tensor);
  /// Throws Error{kIo} if a file has changed since opening (see is_same_state).
  void expect_unchanged() const;

 protected:
  /// Builds the index that `find` searches by name.
  ///
  /// Errors: model_error if two tensors have the same name.
  void index_tensors();

  std::string name_;
  Config config_;
  std::vector<TensorInfo> tensors_;
  std::vector<MappedFile> mapped_;  ///< all files with tensors; empty if the bytes are in memory
  std::unique_ptr<TokenizerData> tokenizer_;
  EmbedderSettings embedder_;
  std::vector<std::pair<std::string, Json>> metadata_;
  std::vector<std::string> files_;
  LoadNotes notes_;

 private:
  std::vector<std::int32_t> by_name_;
};

}  // namespace ingot
