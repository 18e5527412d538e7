// forward: the forward pass, which serves prefill, decode, verification of drafts and embeddings.
#pragma once

#include <cstdint>
#include <span>

#include "backend/backend.h"
#include "backend/host_rows.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace ingot {

/// Buffers for a step's activations, allocated once for the largest step. That step has `rows` rows
/// (T), `out_rows` output rows (R) and `sequences` pooled rows (P). Widths are those of the widest
/// layer. Buffers that the model does not need are empty.
struct Scratch {
  Buffer memory;
  View x;    ///< [rows, hidden], the residual stream
  View h;    ///< [rows, hidden], a sublayer's normalised input
  View y;    ///< [rows, hidden], a sublayer's output, which the next norm adds to `x`
  View qkv;  ///< [rows, qkv_cols], queries, keys and values
  View mix;  ///< [rows, heads * value_dim], the attention's output
  View ff;   ///< [rows, 2 * ffn], output of the gate and up matrices; [rows, ffn] if not gated
  View ff2;  ///< [rows, ffn], output of the activation function

  View latent;  ///< [rows, q_rank], MLA: the latent of queries
  View heads;  ///< [rows, heads * (nope + rope)], MLA: queries before they enter the latent's space
  View values;  ///< [rows, heads * value], MLA: each head's output
  View shared;  ///< [rows, hidden], output of the shared experts
  View gate;    ///< [rows, 1], factor of the shared experts before the sigmoid

  View inputs;     ///< [rows, layers * layer_input], the layers' own inputs
  View projected;  ///< [rows, layers * layer_input], and later one layer's gate

  View output;   ///< [out_rows, hidden], the output rows; contiguous
  View pooled;   ///< [sequences, pooled_cols], result of pooling; contiguous
  View pooled2;  ///< as `pooled`, for the layers after pooling
};

/// Returns the limits of a step with at most `rows` rows. The backend plans its memory with them.
StepLimits step_limits(const Spec& spec, std::int32_t rows, std::int32_t out_rows);
/// Returns the rows of Scratch::pooled in a step: one for each sequence with pooled rows. Models
/// without pooling have none.
std::int64_t pooled_rows(const Spec& spec, const StepLimits& limits);
/// Returns the number of bytes that make_scratch allocates for these limits.
std::int64_t scratch_bytes(const Spec& spec, const StepLimits& limits);
/// Allocates Scratch for all steps within `limits`. Errors: Error{kDoesNotFit}.
Scratch make_scratch(Backend& backend, const Spec& spec, const StepLimits& limits);

/// What a step computes from its output rows (Batch::out_rows).
struct Outputs {
  /// What to compute from logits. All output rows get logits except the last `hidden_rows` rows.
  LogitsReduce logits;
  /// The last `hidden_rows` output rows stay in Scratch::output as hidden states until the next
  /// step.
  std::int64_t hidden_rows = 0;
  /// The last `raw_rows` hidden states skip the final norm. They are the next stage's input.
  std::int64_t raw_rows = 0;
  /// Number of pooled rows, in the order of Batch::pool_seqs. They stay in Scratch::pooled until
  /// the next step.
  std::int64_t pooled = 0;
  /// Copies of results to the host: of LogitsReduce::full, of rows of Scratch::output and of
  /// Scratch::pooled.
  std::span<const RowFetch> fetch{};
};

/// Begins a step that runs the loaded layers: it computes logits or hidden states from token ids or
/// embeddings. The results are there when Backend::wait returns for the step.
///
/// Writes the keys and values of all rows to their slots in `kv`. A row's results depend only on
/// its own sequence, bit for bit.
void forward(const Model& model, Backend& backend, const Batch& batch, const KvCache& kv,
             const Scratch& scratch, const Outputs& outputs);

}  // namespace ingot
