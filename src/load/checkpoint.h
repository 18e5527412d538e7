// Checkpoint: a model on disk, from any container, as validated values and mapped tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/view.h"
#include "load/config.h"
#include "load/json.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

struct GgufEntry;

/// One tensor of a checkpoint. Its place is checked against the file; its meaning is not.
struct TensorInfo {
  std::string name;
  std::vector<std::int64_t> shape;  ///< row-major, outermost first
  std::string type_name;            ///< as the container spells it: "Q4_K", "BF16", "I64"
  std::optional<Format>
      format;  ///< absent for types that hold no weights here (I64, F64, BOOL, ...)
  const std::byte* data = nullptr;  ///< in the mapped file
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  ///< in its file, for messages
  std::int32_t file = 0;     ///< which of the checkpoint's files holds it

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t dim : shape) n *= dim;
    return n;
  }
};

/// An opened model: GGUF (single or split) or a Hugging Face folder with safetensors.
///
/// Immutable after opening. The tensors' bytes are views of mapped files and live as long as the
/// checkpoint. After reading them, call `expect_unchanged`: it fails when a file has changed.
class Checkpoint {
 public:
  /// Opens a GGUF file (or any one file of a split set) or a folder, recognised by content.
  ///
  /// Errors: Error{kModel} in the form of model_error for anything missing, malformed or not
  /// supported.
  static std::unique_ptr<Checkpoint> open(const std::string& path);
  /// Opens a GGUF file whose bytes are in memory and outlive the checkpoint; messages call it
  /// `path`. Without bytes it opens `path` itself.
  static std::unique_ptr<Checkpoint> open(const std::string& path,
                                          std::span<const std::byte> bytes);

  virtual ~Checkpoint() = default;

  const std::string& name() const { return name_; }
  const Config& config() const { return config_; }
  /// In the order of the files.
  std::span<const TensorInfo> tensors() const { return tensors_; }
  /// The tensor of that name, or null.
  const TensorInfo* find(std::string_view name) const;
  /// Null when the container has no tokenizer, or one of an unknown kind.
  const TokenizerData* tokenizer() const { return tokenizer_.get(); }
  /// Key-value pairs for display, in the order of the file; long arrays are summarised.
  std::span<const std::pair<std::string, Json>> metadata() const { return metadata_; }
  /// The paths of all files that opening read; empty when the bytes came from memory.
  std::span<const std::string> files() const { return files_; }
  /// The key-value pairs of a GGUF file (the first file of a split set) as stored, in order.
  /// Empty for another container.
  virtual std::span<const GgufEntry> gguf_entries() const;
  /// Assumptions made and values ignored while opening, one line each, for stderr.
  std::span<const std::string> warnings() const { return warnings_; }

  /// The path of the file that holds this tensor, for messages.
  virtual const std::string& file_of(const TensorInfo& tensor) const = 0;
  /// The files that hold the tensors, in their state at opening; empty when the bytes came from
  /// memory.
  virtual std::vector<FileIdentity> identities() const = 0;
  /// Returns a tensor's pages to the system after its last read.
  virtual void release(const TensorInfo& tensor) = 0;
  /// Throws Error{kIo} when a file's state differs from its state at opening (is_same_state).
  virtual void expect_unchanged() const = 0;

 protected:
  /// Builds the index of `tensors_` by name. The caller has checked that names are unique.
  void index_tensors();

  std::string name_;
  Config config_;
  std::vector<TensorInfo> tensors_;
  std::unique_ptr<TokenizerData> tokenizer_;
  std::vector<std::pair<std::string, Json>> metadata_;
  std::vector<std::string> files_;
  std::vector<std::string> warnings_;

 private:
  std::vector<std::int32_t> by_name_;
};

}  // namespace ingot
