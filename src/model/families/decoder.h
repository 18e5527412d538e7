// The Spec and the tensor table that Llama-like decoder families share.
#pragma once

#include <initializer_list>

#include "model/family.h"

namespace ingot {

/// Makes the Spec of a pre-norm, causal decoder with rotary embeddings, and with gated feed-forward
/// layers or experts.
Spec decoder_spec(const Config& config);

/// Returns the tensor table that all decoders of `decoder_spec` share, followed by `more`.
std::vector<RoleRule> decoder_roles(std::initializer_list<RoleRule> more);

/// Return the supported families, which families.cpp lists.
const Family& llama_family();
const Family& qwen2_family();
const Family& qwen3_family();
const Family& qwen3moe_family();

}  // namespace ingot
