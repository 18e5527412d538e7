// Reads the rotary embedding (RoPE) parameters of a Hugging Face config.json.
#pragma once

#include "load/config.h"
#include "load/json_keys.h"

namespace ingot {

/// Reads rope_theta, rope_scaling (old spelling), rope_parameters (new) and partial_rotary_factor
/// into `config`. Its `head_dim` and `context` must be set.
///
/// Errors: model_error for a scaling other than default, linear, llama3 and yarn, for a member of a
///         scaling that is not applied, and for two spellings that disagree.
/// Source: transformers, modeling_rope_utils.py.
void read_hf_rope(const JsonKeys& keys, const std::string& file, Config& config);

}  // namespace ingot
