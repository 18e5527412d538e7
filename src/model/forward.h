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
/// (T) and `out_rows` output rows (R). Spec has the other sizes.
struct Scratch {
  Buffer memory;
  View x;       ///< [rows, hidden], the residual stream
  View h;       ///< [rows, hidden], a sublayer's normalised input
  View y;       ///< [rows, hidden], a sublayer's output, which the next norm adds to `x`
  View qkv;     ///< [rows, (heads + 2 * kv_heads) * head_dim], queries, keys and values
  View mix;     ///< [rows, heads * head_dim], the attention's output
  View ff;      ///< [rows, 2 * ffn], output of the gate and up matrices; [rows, ffn] if not gated
  View ff2;     ///< [rows, ffn], output of the activation function
  View output;  ///< [out_rows, hidden], the output rows; contiguous
};

/// Returns the limits of a step with at most `rows` rows. The backend plans its memory with them.
StepLimits step_limits(const Spec& spec, std::int32_t rows, std::int32_t out_rows);
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
  /// Copies of results to the host: of LogitsReduce::full and of rows of Scratch::output.
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
