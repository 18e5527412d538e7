// open_adapter: opens LoRA adapters, as PEFT folders with safetensors or as GGUF files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "load/checkpoint.h"
#include "load/config.h"

namespace ingot {

/// How an adapter file stores a pair of matrices A and B, which add scale * B A to a matrix.
enum class AdapterPairKind : std::uint8_t {
  kLinear,     ///< one matrix: A [rank, inputs], B [outputs, rank]
  kEmbedding,  ///< token embeddings: B [H, rank], and A [rank, V] in PEFT, [V, rank] in GGUF
  kStack,      ///< GGUF, all experts: A [E, rank, inputs], B [E, outputs, rank]
  /// PEFT's `target_parameters`, all experts in a parameter [E, x, y]: A [E * rank, n] and
  /// B [m, rank * E]. The expert is the slowest index of A's rows and the fastest index of B's
  /// columns. For most parameters n = y and m = x. For turned parameters, and before PEFT 0.19,
  /// n = x and m = y.
  kParameter,
};

/// A pair of matrices. The tensors point into the AdapterFile.
struct AdapterPair {
  /// In the file's naming: "model.layers.0.self_attn.q_proj"; of GGUF "blk.0.attn_q.weight"; of a
  /// parameter "model.layers.0.mlp.experts.down_proj".
  std::string module;
  AdapterPairKind kind{};
  const TensorInfo* a = nullptr;
  const TensorInfo* b = nullptr;
  std::int64_t rank = 0;
  double alpha = 0;
  double scale = 0;  ///< alpha / rank, or alpha / sqrt(rank)
};

/// A copy of a base matrix, which PEFT stores beside the pair of an embedding or a head.
struct AdapterCopy {
  std::string module;
  const TensorInfo* tensor = nullptr;
};

/// Which modules an adapter's configuration names.
class AdapterScope {
 public:
  virtual ~AdapterScope() = default;
  /// Returns whether the configuration names a module, or every linear module.
  virtual bool targets(std::string_view module) const = 0;
  /// Returns whether the configuration names the parameter of a pair whose module is `name`.
  virtual bool targets_parameter(std::string_view name) const = 0;
  /// Returns whether the configuration names modules as "all-linear": the linear ones except the
  /// output head.
  virtual bool is_all_linear() const = 0;
};

/// An open adapter. All tensors are F32, F16 or BF16, and finite. Each has a place in `pairs`, and
/// no two pairs have the same module. Immutable and movable.
struct AdapterFile {
  std::string name;         ///< the path that was opened
  std::string tensor_file;  ///< path of the file with the tensors
  Naming naming = Naming::kHuggingFace;
  std::vector<AdapterPair> pairs;   ///< sorted by module
  std::vector<AdapterCopy> copies;  ///< unused, but their shapes show whether the base fits
  /// Tokens that begin the adapter's part of a prompt (aLoRA); empty: the adapter acts on all rows.
  std::vector<std::int32_t> invocation_tokens;
  std::string base_model;       ///< what the file calls its base model; may be empty
  std::string architecture;     ///< only of GGUF files
  bool old_parameters = false;  ///< whether PEFT older than 0.19 wrote the pairs of parameters
  std::vector<std::string> warnings;          ///< one line each
  std::vector<std::string> notes;             ///< what else users may want to know, one line each
  std::unique_ptr<const AdapterScope> scope;  ///< null: the file has no configuration
  std::vector<TensorInfo> tensors;
  /// The bytes of the file with the tensors; empty if the caller holds them. They are no mapping:
  /// a file that is truncated while a server loads it must not end the server.
  std::string content;

  /// Throws model_error for a tensor of the file.
  [[noreturn]] void fail(const TensorInfo& tensor, std::string_view reason) const {
    throw model_error(tensor_file, cat("tensor ", printable(tensor.name)), tensor.offset, reason);
  }
  /// Returns the bytes of all tensors.
  std::uint64_t tensor_bytes() const;
};

/// Opens an adapter: a folder with adapter_config.json and adapter_model.safetensors, the path of
/// such a safetensors file, or a GGUF file of the type adapter. Reads all tensors, but only after
/// the configuration, or the GGUF file's type, has shown an adapter.
///
/// Errors: model_error that names the key or the tensor, for a file that is malformed, and for an
/// adapter whose effect is more than the pairs (DoRA, biases, whole modules, changed base weights).
AdapterFile open_adapter(const std::string& path);
/// Opens the PEFT adapter in an open folder, which no change of its path can replace.
AdapterFile open_adapter(const Directory& folder);

/// Returns the name of the file in a folder from which `open_adapter` would read the tensors. Reads
/// no file.
///
/// Errors: model_error if there is none.
std::string adapter_tensor_file(const Directory& folder);

/// Reads an adapter from memory: the texts of the two files of a PEFT folder, or a GGUF file. The
/// bytes of tensors must outlive the result. Messages name the files `name`.
///
/// Errors: those of open_adapter.
AdapterFile read_peft_adapter(std::string_view config, std::span<const std::byte> tensors,
                              const std::string& name);
AdapterFile read_gguf_adapter(std::span<const std::byte> bytes, const std::string& name);

}  // namespace ingot
