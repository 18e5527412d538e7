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
#include "kv/kv_cache.h"
#include "load/checkpoint.h"
#include "model/adapter_targets.h"
#include "model/bind.h"
#include "model/pack_cache.h"
#include "model/pack_folder.h"
#include "model/rope.h"
#include "model/spec.h"

namespace ingot {

/// The norms around a sublayer. A norm that the model does not have is empty.
struct Norms {
  Norm pre;   ///< norm of the sublayer's input
  Norm out;   ///< norm of the sublayer's output
  Norm post;  ///< norm of the residual stream after adding the sublayer's output
};

/// One layer's weights and parameters. Shapes name the fields of LayerSpec, MlaSpec and Spec. What
/// the layer does not have is empty.
struct Layer {
  Norms attn_norms;
  Attention attention;
  HeadNorms head_norms;
  Weight qkv;  ///< [attention.qkv_cols(), hidden]

  // Multi-head latent attention, which has no `qkv`.
  Weight q_down;  ///< [q_rank, hidden]
  Norm q_down_norm;
  Weight q_up;     ///< [heads * (nope + rope), q_rank]; without q_rank, [.., hidden]
  Weight kv_down;  ///< [kv_rank + rope, hidden]
  Norm kv_down_norm;
  std::vector<Weight> k_up;  ///< [heads] of [kv_rank, nope]: a query in the latent's space
  std::vector<Weight> v_up;  ///< [heads] of [value, kv_rank]

  Weight attn_out;  ///< [hidden, heads * value_dim], or [hidden, heads * value]

  Norms ffn_norms;
  Weight gate_up;  ///< [2 * ffn, hidden], or [ffn, hidden] if not gated
  Weight down;     ///< [hidden, ffn]
  Weight router;   ///< [moe.experts, hidden]; empty if the layer is dense
  View selection_bias{};
  std::vector<Weight> expert_gate_up;
  std::vector<Weight> expert_down;
  Weight shared_gate_up;  ///< [2 * shared_ffn, hidden]
  Weight shared_down;     ///< [hidden, shared_ffn]
  Weight shared_router;   ///< [1, hidden]

  Weight input_gate;  ///< [layer_input, hidden]
  Weight input_out;   ///< [hidden, layer_input]
  Norm input_norm;
  float scalar = 1;  ///< factor of the layer's output
};

/// Which layers and matrices of a checkpoint to load, and how.
struct ModelOptions {
  std::int64_t first_layer = 0;
  std::int64_t last_layer = -1;  ///< last layer to load, plus one; -1: up to the model's last layer
  bool embedding = true;         ///< whether to load the embedding matrix, which token ids need
  bool head = true;              ///< whether to load final norm and output head, which logits need
  bool final_norm = true;        ///< whether to load the final norm even without the head
  std::int64_t context = 0;      ///< number of positions in the rotary tables
  bool check_tensors = false;    ///< whether to refuse weights that are NaN or infinite
  /// The format to which loading converts dense matrices; absent: none. F32 widens each of them.
  /// Another format rounds the matrices with `BoundWeight::rounds`. If its block size does not
  /// divide a matrix's `cols`, `format_for_rows` gives the format, as in `ingot quantize`.
  std::optional<Format> weights{};
  ThreadPool* pool = nullptr;  ///< threads for converting; null: the calling thread
  PackCacheOptions pack_cache{};
};

/// Layers [first_layer, first_layer + layers.size()) of a model, and its embedding and output head
/// if they are loaded.
struct Model {
  Spec spec;
  std::int64_t first_layer = 0;
  std::vector<Layer> layers;
  Weight embedding;  ///< [vocab, hidden]; also the output head if `spec.tied`
  Weight own_head;   ///< [vocab, hidden], the output head; empty if `spec.tied`
  Norm final_norm;   ///< empty: the model has none (encoders)
  View positions{};  ///< [context + position_offset, hidden]
  View types{};      ///< [types, hidden]
  Norm embedding_norm;
  Weight layer_embedding;   ///< [vocab, layers * layer_input]
  Weight layer_projection;  ///< [layers * layer_input, hidden]
  Norm layer_projection_norm;
  std::vector<Weight> dense;  ///< layers after pooling: spec.dense
  AdapterTargets adapter_targets;

  /// Returns the output head; null if it is not loaded.
  const Weight* head() const {
    const Weight& w = spec.tied ? embedding : own_head;
    return w && has_head ? &w : nullptr;
  }
  /// Returns how all loaded layers use keys and values, for KvCache.
  std::vector<KvUse> kv_uses() const;

  bool has_head = false;
  PackedFile packed;            ///< owns the weights from the pack cache
  std::vector<Tensor> vectors;  ///< owns the weights of the norms, and other small tensors
  std::vector<RopeTensors> ropes;
  std::vector<std::string> warnings;  ///< warnings from loading, one line each
  std::vector<std::string> notes;     ///< what else users may want to know, one line each
};

/// Receives the number of tensor bytes packed so far (`done`) and in all (`total`).
using Progress = FunctionRef<void(std::uint64_t done, std::uint64_t total)>;

/// Packs the weights that `options` select, and meanwhile releases the files' memory pages. Numbers
/// the weights from 0 in packing order. If the pack cache has these weights, loads them from there;
/// otherwise stores them at the end. A failure of the cache is only a warning or a note. The model
/// does not need the checkpoint's files afterwards.
///
/// Errors: Error{kModel} if the checkpoint lacks a selected matrix, or a tensor is not finite or
/// cannot be converted; Error{kInvalid} if `options.weights` is set and no matrix can have it;
/// Error{kIo} if a file changed while it was read; Error{kDoesNotFit}.
std::unique_ptr<const Model> load_model(Checkpoint& checkpoint, const BoundModel& bound,
                                        Backend& backend, const ModelOptions& options,
                                        Progress progress);

/// Checks that all weights of a tensor are finite. Errors: Error{kModel} that names the tensor.
void require_finite(const Checkpoint& checkpoint, const TensorInfo& tensor);

/// Returns a note for the user if some matrices cannot have the format `wanted`; otherwise "".
std::string rounding_note(const BoundModel& bound, Format wanted);

/// Returns the bytes of the largest matrix that `load_model` converts or puts in another order, and
/// holds in memory besides the packed weights. Reads no weights.
std::int64_t rounding_bytes(const BoundModel& bound, const ModelOptions& options);

/// Returns the bytes that `load_model` allocates for weights. Reads no weights.
std::int64_t weight_bytes(const BoundModel& bound, const Backend& backend,
                          const ModelOptions& options);

}  // namespace ingot
