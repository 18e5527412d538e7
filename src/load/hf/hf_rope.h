// Rotary embeddings as a Hugging Face config.json spells them.
#pragma once

#include "load/config.h"
#include "load/json_keys.h"

namespace ingot {

/// Reads rope_theta, rope_scaling (old spelling), rope_parameters (new) and partial_rotary_factor
/// into the rotary fields of `config`, whose head_dim and context are set.
///
/// Errors: model_error for scalings other than default, linear, llama3 and yarn, for their members
///         that are not applied, and for two spellings that disagree.
/// Source: transformers, modeling_rope_utils.py.
void read_hf_rope(const JsonKeys& keys, const std::string& file, Config& config);

}  // namespace ingot
