// Spec: an architecture as plain data, which the forward pass reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/ops.h"

namespace ingot {

/// Rotary frequencies and layout. make_rope_table makes the tables from them.
struct RopeSpec {
  bool adjacent_pairs = false;            ///< true: pairs (2i, 2i + 1); false: (i, i + dims / 2)
  std::int32_t dims = 0;                  ///< number of rotated elements of a head
  std::vector<double> inverse_frequency;  ///< [dims / 2], a pair's rotation in radians per token
  double factor = 1;                      ///< multiplies all cosines and sines

  bool operator==(const RopeSpec&) const = default;
};

/// Everything about an architecture except its weights. A Family makes it from a Config.
struct Spec {
  std::string architecture;  ///< name in GGUF's spelling

  std::int64_t layers = 0;
  std::int64_t hidden = 0;    ///< width of the residual stream (H in shapes)
  std::int64_t ffn = 0;       ///< inner width of dense feed-forward layers (F in shapes)
  std::int64_t vocab = 0;     ///< size of the vocabulary (V); 0: neither embedding nor head
  std::int64_t context = 0;   ///< trained context in tokens
  std::int32_t heads = 0;     ///< number of query heads (N in shapes)
  std::int32_t kv_heads = 0;  ///< number of kv heads (G in shapes)
  std::int32_t head_dim = 0;  ///< elements of a head (D in shapes)

  NormKind norm = NormKind::kRms;
  float norm_eps = 0;

  float attention_scale = 0;
  float score_cap = 0;  ///< an attention score s becomes cap * tanh(s / cap); 0: no cap
  bool causal = true;
  std::vector<std::int32_t> window;  ///< [layers], sliding window in tokens; 0: no window
  std::vector<RopeSpec> ropes;
  std::vector<std::int32_t> rope;  ///< [layers], each layer's index in `ropes`; -1: no rotation

  Act act = Act::kSilu;
  bool gated = true;
  Moe moe;                   ///< mixture of experts; `experts` is 0 if all layers are dense
  std::vector<bool> sparse;  ///< [layers], whether the layer is a mixture of experts

  bool tied = false;  ///< true if the output head is the embedding matrix

  bool operator==(const Spec&) const = default;

  std::int64_t q_cols() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_cols() const { return std::int64_t{kv_heads} * head_dim; }
};

/// Returns the attention parameters of layer `i`, without the rotary table.
Attention attention_of(const Spec& spec, std::int64_t i);

/// Formats a Spec as lines of "name = value", for messages, comparisons and fingerprints.
std::string to_string(const Spec& spec);

}  // namespace ingot
