// Spec: an architecture as plain data, which the forward pass reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/ops.h"

namespace ingot {

/// Rotary frequencies, before the table by position is made.
struct RopeSpec {
  bool adjacent_pairs = false;
  std::int32_t dims = 0;                  ///< rotated elements of a head
  std::vector<double> inverse_frequency;  ///< [dims / 2], radians a token
  double factor = 1;                      ///< multiplies cos and sin

  bool operator==(const RopeSpec&) const = default;
};

/// Everything about an architecture except its weights. A Family makes it from a Config.
struct Spec {
  std::string architecture;  ///< GGUF's spelling

  std::int64_t layers = 0;
  std::int64_t hidden = 0;    ///< H
  std::int64_t ffn = 0;       ///< F of dense layers
  std::int64_t vocab = 0;     ///< V; 0 for a backbone without embeddings and head
  std::int64_t context = 0;   ///< tokens that the model was trained for
  std::int32_t heads = 0;     ///< N
  std::int32_t kv_heads = 0;  ///< G
  std::int32_t head_dim = 0;  ///< D

  NormKind norm = NormKind::kRms;
  float norm_eps = 0;

  float attention_scale = 0;
  float score_cap = 0;  ///< 0 = none
  bool causal = true;
  std::vector<std::int32_t> window;  ///< [layers], 0 = none
  std::vector<RopeSpec> ropes;
  std::vector<std::int32_t> rope;  ///< [layers], index into `ropes` or -1

  Act act = Act::kSilu;
  bool gated = true;
  Moe moe;                   ///< experts = 0: dense everywhere
  std::vector<bool> sparse;  ///< [layers], whether the layer is a mixture of experts

  bool tied = false;  ///< the output head is the embedding matrix

  bool operator==(const Spec&) const = default;

  std::int64_t q_cols() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_cols() const { return std::int64_t{kv_heads} * head_dim; }
};

/// Lines of "name = value", for messages and comparisons.
std::string to_string(const Spec& spec);

}  // namespace ingot
