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
  View output;  ///< [R, H], output rows
};

/// The largest step for which the backend is planned.
StepLimits step_limits(const Spec& spec, std::int32_t rows, std::int32_t out_rows);
/// Bytes of Scratch for these limits.
std::int64_t scratch_bytes(const Spec& spec, const StepLimits& limits);
/// Allocates Scratch. Errors: Error{kDoesNotFit}.
Scratch make_scratch(Backend& backend, const Spec& spec, const StepLimits& limits);

/// The results of the rows in `Batch::out_rows`.
enum class Output {
  kLogits,        ///< logits, reduced as `Outputs::logits` asks
  kHiddenNormed,  ///< hidden states after the final norm
  kHidden,        ///< hidden states before it: the next stage takes them as embeddings
};

/// The results' kind and destination.
struct Outputs {
  Output kind = Output::kLogits;
  LogitsReduce logits;
  View hidden;  ///< [R, H]
  /// For kLogits: the last `hidden_rows` rows skip the head and stay in Scratch::output as hidden
  /// states; the last `raw_rows` of these skip the final norm too.
  std::int64_t hidden_rows = 0;
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
