// The parts of reading config.json: each fills some fields of a Config.
#pragma once

#include <vector>

#include "load/config.h"
#include "load/hf/hf_keys.h"

namespace ingot {

/// All functions below throw model_error for a value that is malformed or not supported. They read
/// fields that earlier functions fill: call them in this order.
///
/// Refuses keys that would change the arithmetic and that the family does not read, unless the user
/// accepts them. Also refuses quantised weights, except MXFP4 in families that read
/// `quantization_config`.
///
/// (A change of names or shapes of tensors is detected later, when a model is bound.)
void refuse_unapplied(const HfKeys& keys);

/// Refuses quantised weights that the members of an object name.
void refuse_quantisation(const JsonKeys& members, bool accepts_mxfp4 = false);

/// Reads sizes, norm, activation, biases, tying, factors and caps.
void read_hf_sizes(const HfKeys& keys, Config& config);

/// Reads the sizes of multi-head latent attention, if the family has them.
void read_hf_mla(const HfKeys& keys, Config& config);

/// Which layers are of the kind that has a sliding window. Empty: no layer is of this kind.
using HfSlides = std::vector<bool>;

/// Reads layer_types, or applies the family's rule; sets the windows of layers.
HfSlides read_hf_windows(const HfKeys& keys, Config& config);

/// Reads sizes that differ between layers, and which layers share keys and values (Gemma 4).
void read_hf_layer_sizes(const HfKeys& keys, const HfSlides& slides, Config& config);

/// Reads rotary embeddings in the old spelling (rope_theta, rope_scaling) and the new one
/// (rope_parameters), and which layers do not rotate. Changes the attention scale where a scaling
/// does.
///
/// Source: transformers, modeling_rope_utils.py; models/{deepseek_v3,hunyuan_v1_dense}.
void read_hf_rope(const HfKeys& keys, const HfSlides& slides, Config& config);

/// Reads experts, router, shared experts, and which layers are dense.
void read_hf_experts(const HfKeys& keys, Config& config);

/// Reads token types, positions and the classification head of encoders.
void read_hf_encoder(const HfKeys& keys, Config& config);

}  // namespace ingot
