// GgufFamily: what an architecture's GGUF keys mean where architectures differ, as one table row.
#pragma once

#include <cstdint>
#include <string_view>

#include "load/architectures.h"

namespace ingot {

/// Which layers have the window of "attention.sliding_window".
enum class WindowRule {
  kIfStated,   ///< those of the stated or the architecture's pattern, if the file states a window;
               ///< a window is refused if the architecture has no pattern
  kAllLayers,  ///< all layers, if the file states a window
  kPattern,    ///< those of the pattern; a window is required
};

/// What "logit_scale" does with logits.
enum class LogitScale { kRefused, kFactor, kDivisor };

/// Facts that GGUF files of an architecture do not state, and the keys that only its files have.
/// The defaults hold for any architecture without a row.
struct GgufFamily {
  std::string_view architecture{};

  WindowRule windows = WindowRule::kIfStated;
  std::int64_t default_window = 0;  ///< window if the file states none; 0: no default
  double window_theta = 0;          ///< rotary base of layers with a window; 0: that of the others
  bool unscaled_windows = false;    ///< layers with a window have no rotary scaling

  bool root_embeddings = false;  ///< token embeddings are multiplied by sqrt(hidden)
  bool multipliers = false;      ///< has attention.scale, embedding_scale, residual_scale; and
                                 ///< rope.scaling.finetuned = false means no rotation
  LogitScale logit_scale = LogitScale::kRefused;
  bool score_cap = false;  ///< has attn_logit_softcapping
  bool logit_cap = false;  ///< has final_logit_softcapping
  /// In models with this number of layers, the factor of scores is 1 / sqrt(hidden / heads).
  std::int64_t wide_score_layers = 0;

  bool needs_experts = false;     ///< a model without experts is damaged
  bool experts_are_ffn = false;   ///< experts have the width feed_forward_length if none is stated
  bool renormalise = true;        ///< default of expert_weights_norm
  bool router_rules = false;      ///< has gating function, groups, scale and leading dense layers
  bool shared_experts = false;    ///< has shared experts
  bool mla = false;               ///< multi-head latent attention
  bool layer_inputs = false;      ///< has per-layer embeddings and layers that share keys, values
  bool residual_by_norm = false;  ///< layers without ffn_norm add attention and FFN in parallel
  bool dense_modules = false;     ///< may have linear layers after pooling: dense_2, dense_3
  bool classifier = false;        ///< may be a cross-encoder
};

/// Returns the row of an architecture, or the defaults.
const GgufFamily& gguf_family(std::string_view architecture);

/// Returns whether only some layers of an architecture have the window of its files.
bool has_window_pattern(const ArchitectureTraits& traits);

}  // namespace ingot
