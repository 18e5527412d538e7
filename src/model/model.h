// Model: a Spec and its weights, packed for a backend; immutable after load.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "load/checkpoint.h"
#include "model/bind.h"
#include "model/pack_cache.h"
#include "model/rope.h"
#include "model/spec.h"

namespace ingot {

/// The norms around a sublayer. A norm that the model does not have is empty.
struct Norms {
  Norm pre;   ///< norm of the sublayer's input
  Norm out;   ///< norm of the sublayer's output
  Norm post;  ///< norm of the sum of residual stream and output
};

/// One layer's weights and parameters. The letters in shapes are those of Spec.
struct Layer {
  Norms attn_norms;
  Attention attention;
  Weight qkv;  ///< [(N + 2G)*D, H]
  Norm q_norm;
  Norm k_norm;
  Weight attn_out;  ///< [H, N*D]

  Norms ffn_norms;
  Weight gate_up;  ///< [2F, H], or [F, H] when not gated
  Weight down;     ///< [H, F]
  Weight router;   ///< [E, H]; empty unless the layer is a mixture of E experts
  std::vector<Weight> expert_gate_up;
  std::vector<Weight> expert_down;
};

/// Which parts of a checkpoint to load, and how.
struct ModelOptions {
  std::int64_t first_layer = 0;
  std::int64_t last_layer = -1;  ///< last layer to load, plus one; -1: to the model's last layer
  bool embedding = true;         ///< load the embedding matrix, to compute from token ids
  bool head = true;              ///< load final norm and output head, to compute logits
  bool final_norm = true;        ///< load the final norm even without the head
  std::int64_t context = 0;      ///< number of positions in the rotary tables
  bool check_tensors = false;    ///< refuse weights that are NaN or infinite
  /// The format to which loading rounds dense matrices, as `ingot quantize` does. Matrices whose
  /// rows do not divide into the format's blocks get the format from `format_for_rows`.
  std::optional<Format> weights{};
  ThreadPool* pool = nullptr;  ///< threads for rounding; null: the calling thread
  /// The folder of the pack cache (pack_cache.h); empty: no cache.
  std::string_view pack_cache{};
};

/// Layers [first_layer, first_layer + layers.size()) of a model, and its embedding and output head
/// if they are loaded.
struct Model {
  Spec spec;
  std::int64_t first_layer = 0;
  std::vector<Layer> layers;
  Weight embedding;  ///< [V, H]; also the output head if `spec.tied`
  Weight own_head;   ///< [V, H], the output head; empty if `spec.tied`
  Norm final_norm;

  /// The output head; null if it is not loaded.
  const Weight* head() const {
    const Weight& w = spec.tied ? embedding : own_head;
    return w && has_head ? &w : nullptr;
  }
  /// The attention parameters of all loaded layers, for KvCache.
  std::vector<Attention> attention() const;

  bool has_head = false;
  PackedFile packed;            ///< owns the weights from the pack cache
  std::vector<Tensor> vectors;  ///< owns the weights of the norms
  std::vector<RopeTensors> ropes;
  std::vector<std::string> warnings;  ///< one line per warning from loading
};

/// Receives the progress of packing, in bytes of the checkpoint's tensors.
using Progress = FunctionRef<void(std::uint64_t done, std::uint64_t total)>;

/// Packs the weights that `options` select, and releases the files' memory pages as it proceeds. A
/// pack cache provides the packed weights, or stores them at the end; a failure of the cache is
/// only a warning. The checkpoint's files are not needed afterwards.
///
/// Errors: Error{kModel} if a selected part is not in the checkpoint, or a tensor is not finite or
/// cannot be rounded; Error{kInvalid} if `options.weights` is set and rounds no matrix; Error{kIo}
/// if a file changed while it was read; Error{kDoesNotFit}.
std::unique_ptr<const Model> load_model(Checkpoint& checkpoint, const BoundModel& bound,
                                        Backend& backend, const ModelOptions& options,
                                        Progress progress);

/// Checks that all weights of a tensor are finite. Errors: Error{kModel} that names the tensor.
void require_finite(const Checkpoint& checkpoint, const TensorInfo& tensor);

/// A note for the user if some matrices cannot have the format `wanted`; otherwise empty.
std::string rounding_note(const BoundModel& bound, Format wanted);

/// Bytes of the largest matrix that `load_model` rounds, and holds in memory besides the packed
/// weights. Computed from headers alone.
std::int64_t rounding_bytes(const BoundModel& bound, const ModelOptions& options);

/// Bytes that `load_model` allocates for weights. Computed from headers alone.
std::int64_t weight_bytes(const BoundModel& bound, const Backend& backend,
                          const ModelOptions& options);

}  // namespace ingot
