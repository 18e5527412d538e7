// The one forward path: prefill, chunk, decode, verification and embedding are the same function.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace ingot {

/// Activations of a step, planned once for the largest one.
struct Scratch {
  Buffer memory;
  View x;       ///< [T, H] the residual stream
  View h;       ///< [T, H] a sublayer's normalised input
  View y;       ///< [T, H] its output, not yet added
  View qkv;     ///< [T, (N + 2G)*D]
  View mix;     ///< [T, N*D]
  View ff;      ///< [T, 2F]
  View ff2;     ///< [T, F]
  View output;  ///< [R, H] rows that leave the model
};

/// What the backend has to be planned for.
StepLimits step_limits(const Spec& spec, std::int32_t rows, std::int32_t out_rows);
/// Bytes of Scratch for these limits.
std::int64_t scratch_bytes(const Spec& spec, const StepLimits& limits);
/// Allocates Scratch. Errors: Error{kDoesNotFit}.
Scratch make_scratch(Backend& backend, const Spec& spec, const StepLimits& limits);

/// What becomes of the rows that `Batch::out_rows` names.
enum class Output {
  kLogits,        ///< through final norm and head, reduced as `Outputs::logits` says
  kHiddenNormed,  ///< after the final norm
  kHidden,        ///< as the last loaded layer leaves them: what the next stage takes as embeddings
};

/// Where results go.
struct Outputs {
  Output kind = Output::kLogits;
  LogitsReduce logits;
  View hidden;  ///< [R, H]
  /// Of kLogits: so many of the last rows do not go through the head but stay in Scratch::output
  /// as hidden states; the last `raw_rows` of them do not go through the final norm either.
  std::int64_t hidden_rows = 0;
  std::int64_t raw_rows = 0;
};

/// Runs the loaded layers over a step: rows of token ids or embeddings in, logits or hidden states
/// out.
///
/// Keys and values of all rows are written to their slots in `kv`. What comes out of a row depends
/// on the row's own sequence alone, bit for bit.
void forward(const Model& model, Backend& backend, const Batch& batch, const KvCache& kv,
             const Scratch& scratch, const Outputs& outputs);

}  // namespace ingot
