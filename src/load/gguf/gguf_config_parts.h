// The parts of gguf_config: each reads the keys of one topic into a Config.
#pragma once

#include <cstdint>
#include <vector>

#include "load/architectures.h"
#include "load/config.h"
#include "load/gguf/architecture_keys.h"
#include "load/gguf/gguf_config.h"
#include "load/gguf/gguf_families.h"

namespace ingot {

/// What the parts read from and write to.
struct GgufConfigParts {
  const ArchitectureKeys& keys;
  const ArchitectureTraits& traits;
  const GgufFamily& family;
  const HasTensor& has_tensor;
  Config& config;
  std::int64_t blocks = 0;           ///< layers, and behind them those for multi-token prediction
  std::int64_t window_head_dim = 0;  ///< head size of layers with a window, by the pattern

  /// Returns whether the file has layer `layer`'s tensor "blk.LAYER.NAME".
  bool has_block_tensor(std::int64_t layer, std::string_view name) const;
};

// Call these in this order, because later ones use what earlier ones have read.

/// Reads the numbers of layers, and the sizes that no layer changes.
void read_model_sizes(GgufConfigParts& parts);
/// Reads `window`.
void read_windows(const GgufConfigParts& parts);
/// Reads heads, their sizes and the widths of feed-forward layers, which may differ by layer; MLA.
void read_layer_sizes(GgufConfigParts& parts);
/// Reads rotary embeddings, and which layers have which.
void read_ropes(const GgufConfigParts& parts);
/// Reads factors and caps of embeddings, scores, sublayers and logits.
void read_factors(const GgufConfigParts& parts);
/// Reads experts and router rules.
void read_experts(const GgufConfigParts& parts);
/// Reads which layers have what only Gemma 4's have.
void read_layer_inputs(const GgufConfigParts& parts);
/// Reads pooling and what follows pooling.
void read_pooling(const GgufConfigParts& parts);

}  // namespace ingot
