// forward: the one forward pass, for prefill, decode, verification of drafts and embeddings.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace ingot {

/// Activations of a step, planned once for the largest step.
struct Scratch {
  Buffer memory;
  View x;       ///< [T, H], the residual stream
  View h;       ///< [T, H], a sublayer's normalised input
  View y;       ///< [T, H], a sublayer's output before it is added
  View qkv;     ///< [T, (N + 2G)*D]
  View mix;     ///< [T, N*D]
  View ff;      ///< [T, 2F]
  View ff2;     ///< [T, F]
  View output;  ///< [R, H], output rows; contiguous
};

/// The largest step for which the backend is planned.
StepLimits step_limits(const Spec& spec, std::int32_t rows, std::int32_t out_rows);
/// Bytes of Scratch for these limits.
std::int64_t scratch_bytes(const Spec& spec, const StepLimits& limits);
/// Allocates Scratch. Errors: Error{kDoesNotFit}.
Scratch make_scratch(Backend& backend, const Spec& spec, const StepLimits& limits);

/// What a step computes of its R output rows (Batch::out_rows).
struct Outputs {
  /// Logits of all rows except the last `hidden_rows`, through final norm and head.
  LogitsReduce logits;
  /// The last rows, which stay in Scratch::output as hidden states.
  std::int64_t hidden_rows = 0;
  /// The last of these, without the final norm: the next stage takes them as embeddings.
  std::int64_t raw_rows = 0;
};

/// Runs the loaded layers over a step: rows of token ids or embeddings in, logits or hidden states
/// out.
///
/// Writes the keys and values of all rows to their slots in `kv`. A row's results depend on its own
/// sequence alone, bit for bit.
void forward(const Model& model, Backend& backend, const Batch& batch, const KvCache& kv,
             const Scratch& scratch, const Outputs& outputs);

}  // namespace ingot
