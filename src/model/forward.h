// forward: the forward pass, which serves prefill, decode, verification of drafts and embeddings.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace ingot {

/// Buffers for a step's activations, allocated once for the largest step, which has T rows and R
/// output rows. The other letters in shapes are those of Spec.
struct Scratch {
  Buffer memory;
  View x;       ///< [T, H], the residual stream
  View h;       ///< [T, H], a sublayer's normalised input
  View y;       ///< [T, H], a sublayer's output, which is then added to `x`
  View qkv;     ///< [T, (N + 2G)*D], queries, keys and values of all heads
  View mix;     ///< [T, N*D], the attention's output
  View ff;      ///< [T, 2F], output of the gate and up matrices; [T, F] when not gated
  View ff2;     ///< [T, F], output of the activation function
  View output;  ///< [R, H], the output rows; contiguous
};

/// The limits of a step with at most `rows` rows. The backend plans its memory for these limits.
StepLimits step_limits(const Spec& spec, std::int32_t rows, std::int32_t out_rows);
/// Bytes that make_scratch allocates for these limits.
std::int64_t scratch_bytes(const Spec& spec, const StepLimits& limits);
/// Allocates Scratch. Errors: Error{kDoesNotFit}.
Scratch make_scratch(Backend& backend, const Spec& spec, const StepLimits& limits);

/// What a step computes from its output rows (Batch::out_rows).
struct Outputs {
  /// Results wanted from the logits of the output rows, except the last `hidden_rows` rows.
  LogitsReduce logits;
  /// The last `hidden_rows` output rows stay in Scratch::output as hidden states.
  std::int64_t hidden_rows = 0;
  /// The last `raw_rows` hidden states get no final norm: they go to the next pipeline stage.
  std::int64_t raw_rows = 0;
};

/// Runs the loaded layers: computes logits or hidden states from a step's token ids or embeddings.
///
/// Writes the keys and values of all rows to their slots in `kv`. A row's results depend on its own
/// sequence alone, bit for bit.
void forward(const Model& model, Backend& backend, const Batch& batch, const KvCache& kv,
             const Scratch& scratch, const Outputs& outputs);

}  // namespace ingot
