// Spec: an architecture as plain data, which the forward pass reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/ops.h"
#include "base/index.h"

namespace ingot {

/// Rotary frequencies and layout. make_rope_table makes the tables from them.
struct RopeSpec {
  bool adjacent_pairs = false;            ///< true: pairs (2i, 2i + 1); false: (i, i + dims / 2)
  std::int32_t dims = 0;                  ///< number of rotated elements of a head
  std::vector<double> inverse_frequency;  ///< [dims / 2], a pair's rotation in radians per token
  double factor = 1;                      ///< multiplies all cosines and sines

  bool operator==(const RopeSpec&) const = default;
};

/// Sizes of one layer, and switches in which the layers of a model may differ.
struct LayerSpec {
  std::int32_t heads = 0;         ///< number of query heads (N in shapes)
  std::int32_t kv_heads = 0;      ///< number of kv heads (G in shapes)
  std::int32_t head_dim = 0;      ///< elements of a query or key head (D in shapes)
  std::int32_t value_dim = 0;     ///< elements of a value head
  std::int64_t ffn = 0;           ///< inner width of a dense feed-forward layer (F in shapes)
  float attention_scale = 0;      ///< factor of attention scores
  std::int32_t window = 0;        ///< sliding window in tokens; 0: no window
  std::int32_t rope = 0;          ///< index in Spec::ropes; -1: no rotation
  bool sparse = false;            ///< whether the layer is a mixture of experts
  std::int32_t kv_source = -1;    ///< layer whose keys and values this layer reads; -1: its own
  bool values_from_keys = false;  ///< whether the key projection also gives the values

  bool operator==(const LayerSpec&) const = default;

  std::int64_t q_cols() const { return std::int64_t{heads} * head_dim; }
  std::int64_t k_cols() const { return std::int64_t{kv_heads} * head_dim; }
  std::int64_t v_cols() const { return std::int64_t{kv_heads} * value_dim; }
};

/// Sizes of multi-head latent attention; `kv_rank` 0: the model has another attention.
///
/// In this attention, a key is its token's latent and rotary part, and a value is the latent. So
/// all query heads share one kv head. Source: DeepSeek-V2, arXiv:2405.04434, section 2.1.
struct MlaSpec {
  std::int32_t q_rank = 0;   ///< width of the queries' latent; 0: queries have no latent
  std::int32_t kv_rank = 0;  ///< width of the latent of keys and values
  std::int32_t nope = 0;     ///< elements of a query that do not rotate
  std::int32_t rope = 0;     ///< elements of a query or key that rotate
  std::int32_t value = 0;    ///< elements of a head's output
  float norm_eps = 0;        ///< epsilon of the latents' norms

  bool operator==(const MlaSpec&) const = default;
};

/// A dense layer that follows pooling.
struct DenseSpec {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool tanh = false;  ///< whether tanh is the activation; else there is none
  float scale = 1;    ///< factor of outputs that are logits of tokens
  float cap = 0;      ///< then an output y becomes cap * tanh(y / cap); 0: no cap

  bool operator==(const DenseSpec&) const = default;
};

/// Everything about an architecture except its weights. `make_spec` makes it from a Config.
struct Spec {
  std::string architecture;  ///< name in GGUF's spelling

  std::int64_t layers = 0;
  std::int64_t hidden = 0;   ///< width of the residual stream (H in shapes)
  std::int64_t vocab = 0;    ///< size of the vocabulary (V); 0: neither embedding nor head
  std::int64_t context = 0;  ///< tokens of a sequence, if the user does not choose a number
  std::vector<LayerSpec> layer_specs;  ///< [layers]

  NormKind norm = NormKind::kRms;
  float norm_eps = 0;
  bool norm_plus_one = false;      ///< whether norms multiply by 1 + the stored weight
  bool norm_after_rope = false;    ///< whether query and key norms follow the rotation
  bool value_norm = false;         ///< whether each value head is normalised, without a weight
  bool parallel_residual = false;  ///< whether attention and feed-forward layer share their input
  float residual_scale = 1;        ///< factor of each sublayer's output
  float embed_scale = 1;           ///< factor of token embeddings
  float logit_scale = 1;           ///< factor of logits
  float logit_cap = 0;             ///< a logit y becomes cap * tanh(y / cap); 0: no cap
  float score_cap = 0;             ///< an attention score s becomes cap * tanh(s / cap); 0: no cap
  bool causal = true;
  MlaSpec mla;
  std::vector<RopeSpec> ropes;

  Act act = Act::kSilu;
  bool gated = true;
  Moe moe;                       ///< mixture of experts; `experts` is 0 if all layers are dense
  std::int64_t shared_ffn = 0;   ///< inner width of the shared experts together; 0: none
  std::int64_t layer_input = 0;  ///< width of each layer's own token embedding; 0: none

  bool tied = false;  ///< true if the output head is the embedding matrix

  // Encoders and embedders.
  std::int32_t position_offset = 0;   ///< row of the learned position table for position 0
  std::int64_t relative_buckets = 0;  ///< buckets of relative positions; 0: no such bias
  Pooling pooling = Pooling::kNone;
  bool normalise = false;        ///< whether pooled rows are scaled to length 1
  std::vector<DenseSpec> dense;  ///< layers after pooling, in order
  std::int64_t labels = 0;       ///< outputs of a cross-encoder's head; 0: no cross-encoder

  bool operator==(const Spec&) const = default;

  const LayerSpec& layer(std::int64_t i) const { return at(layer_specs, i); }
  /// Returns the largest value of a function of a layer.
  template <class Fn>
  std::int64_t widest(Fn columns) const {
    std::int64_t most = 0;
    for (const LayerSpec& layer : layer_specs) most = std::max<std::int64_t>(most, columns(layer));
    return most;
  }
  /// Returns the width of a pooled row after the dense layers.
  std::int64_t pooled_cols() const { return dense.empty() ? hidden : dense.back().outputs; }
  /// Returns whether rows can be embeddings in place of token ids. A model with per-layer inputs
  /// looks them up by token id.
  bool takes_embeddings() const { return layer_input == 0; }
};

/// Returns the attention parameters of layer `i`, without the rotary table.
Attention attention_of(const Spec& spec, std::int64_t i);

/// Formats a Spec as lines of "name = value", for messages, comparisons and fingerprints. Names
/// everything that changes results. A field that this function gained later has no line if its
/// value is neutral, so that fingerprints of older models stay.
std::string to_string(const Spec& spec);

}  // namespace ingot
