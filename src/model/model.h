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

/// Where a sublayer is normalised: its input, its output, or the sum.
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

/// What of a checkpoint is loaded, and for which context.
struct ModelOptions {
  std::int64_t first_layer = 0;
  std::int64_t last_layer = -1;  ///< one past the last; -1 = all
  bool embedding = true;         ///< the embedding matrix: for token ids
  bool head = true;              ///< final norm and head: for logits
  bool final_norm = true;        ///< for hidden states after the norm
  std::int64_t context = 0;      ///< positions that rotary tables serve
  bool check_tensors = false;    ///< refuse weights that are NaN or infinite
  /// Dense matrices are rounded to this format while they are loaded, as `ingot quantize` does it;
  /// rows that its blocks do not divide get the one of `format_for_rows`.
  std::optional<Format> weights{};
  ThreadPool* pool = nullptr;  ///< to round on; null = the calling thread
  /// A folder that keeps packed weights for the next start (pack_cache.h); empty = none.
  std::string_view pack_cache{};
};

/// The layers [first_layer, first_layer + layers.size()) of an architecture, and its ends where
/// loaded.
struct Model {
  Spec spec;
  std::int64_t first_layer = 0;
  std::vector<Layer> layers;
  Weight embedding;  ///< [V, H]; also the head when tied
  Weight own_head;   ///< [V, H] when not tied
  Norm final_norm;

  /// The head, or null when it is not loaded.
  const Weight* head() const {
    const Weight& w = spec.tied ? embedding : own_head;
    return w && has_head ? &w : nullptr;
  }
  /// The attention parameters of all loaded layers, for KvCache.
  std::vector<Attention> attention() const;

  bool has_head = false;
  PackedFile packed;            ///< owns the weights that come from the pack cache
  std::vector<Tensor> vectors;  ///< owns the norms' weights
  std::vector<RopeTensors> ropes;
  std::vector<std::string> warnings;  ///< of loading, a line each
};

/// Progress of packing, in bytes of the file.
using Progress = FunctionRef<void(std::uint64_t done, std::uint64_t total)>;

/// Packs the weights that `options` ask for; the pages of the file are given back on the way. With
/// a pack cache they come from there where it has them, else they are kept there in the end; what
/// cannot be read or kept there is a warning. Afterwards the checkpoint's files do not matter any
/// more.
///
/// Errors: Error{kModel} when a part that is asked for is not in the checkpoint, or a tensor is not
/// finite or cannot be rounded; Error{kInvalid} where `weights` finds nothing dense; Error{kIo}
/// when a file changed meanwhile; Error{kDoesNotFit}.
std::unique_ptr<const Model> load_model(Checkpoint& checkpoint, const BoundModel& bound,
                                        Backend& backend, const ModelOptions& options,
                                        Progress progress);

/// Reads all weights of a tensor. Errors: Error{kModel} naming it when one is NaN or infinite.
void require_finite(const Checkpoint& checkpoint, const TensorInfo& tensor);

/// What a user should know of rounding to `wanted` while loading; empty where there is nothing.
std::string rounding_note(const BoundModel& bound, Format wanted);

/// Bytes that `load_model` holds beside the packed weights for a while, at most: those of one
/// matrix that is rounded. From headers alone.
std::int64_t rounding_bytes(const BoundModel& bound, const ModelOptions& options);

/// Bytes that `load_model` will allocate for weights, from headers alone.
std::int64_t weight_bytes(const BoundModel& bound, const Backend& backend,
                          const ModelOptions& options);

}  // namespace ingot
