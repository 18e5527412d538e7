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

/// The norms of a sublayer: of its input, its output, and the sum.
struct Norms {
  Norm pre;
  Norm out;
  Norm post;
};

/// One layer's weights and parameters.
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
  Weight router;   ///< [E, H]; present = mixture of experts
  std::vector<Weight> expert_gate_up;
  std::vector<Weight> expert_down;
};

/// The parts of a checkpoint to load, and how.
struct ModelOptions {
  std::int64_t first_layer = 0;
  std::int64_t last_layer = -1;  ///< one past the last; -1: all
  bool embedding = true;         ///< load the embedding matrix: for token ids
  bool head = true;              ///< load final norm and output head: for logits
  bool final_norm = true;        ///< load the final norm: for hidden states after it
  std::int64_t context = 0;      ///< positions in the rotary tables
  bool check_tensors = false;    ///< refuse weights that are NaN or infinite
  /// The format to which dense matrices are rounded while loading, as `ingot quantize` does it.
  /// Rows that its blocks do not divide get the format of `format_for_rows`.
  std::optional<Format> weights{};
  ThreadPool* pool = nullptr;  ///< threads for rounding; null: the calling thread
  /// A folder that keeps packed weights for the next start (pack_cache.h); empty: none.
  std::string_view pack_cache{};
};

/// Layers [first_layer, first_layer + layers.size()) of an architecture, with embedding and output
/// head if loaded.
struct Model {
  Spec spec;
  std::int64_t first_layer = 0;
  std::vector<Layer> layers;
  Weight embedding;  ///< [V, H]; also the output head when tied
  Weight own_head;   ///< [V, H] when not tied
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
  std::vector<Tensor> vectors;  ///< owns the norms' weights
  std::vector<RopeTensors> ropes;
  std::vector<std::string> warnings;  ///< warnings of loading, a line each
};

/// Progress of packing, in bytes of the file.
using Progress = FunctionRef<void(std::uint64_t done, std::uint64_t total)>;

/// Packs the weights that `options` ask for, and releases the file's memory pages meanwhile. With a
/// pack cache, weights come from there, or are stored there at the end; a failure to read or store
/// them is a warning. Afterwards the checkpoint's files are not needed.
///
/// Errors: Error{kModel} when a wanted part is not in the checkpoint, or a tensor is not finite or
/// cannot be rounded; Error{kInvalid} when `weights` finds no dense matrix; Error{kIo} when a file
/// changed meanwhile; Error{kDoesNotFit}.
std::unique_ptr<const Model> load_model(Checkpoint& checkpoint, const BoundModel& bound,
                                        Backend& backend, const ModelOptions& options,
                                        Progress progress);

/// Reads all weights of a tensor. Errors: Error{kModel} naming it when one is NaN or infinite.
void require_finite(const Checkpoint& checkpoint, const TensorInfo& tensor);

/// A note for the user about rounding to `wanted` while loading, or an empty text.
std::string rounding_note(const BoundModel& bound, Format wanted);

/// The most bytes that `load_model` holds besides the packed weights: one matrix while it is
/// rounded. From headers alone.
std::int64_t rounding_bytes(const BoundModel& bound, const ModelOptions& options);

/// Bytes that `load_model` allocates for weights, from headers alone.
std::int64_t weight_bytes(const BoundModel& bound, const Backend& backend,
                          const ModelOptions& options);

}  // namespace ingot
