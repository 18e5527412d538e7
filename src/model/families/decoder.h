// The Spec and the tensor table of Llama-like decoders.
#pragma once

#include <initializer_list>

#include "model/family.h"

namespace ingot {

/// The Spec of a pre-norm, causal decoder with rotary embeddings, and gated feed-forward or
/// experts.
Spec decoder_spec(const Config& config);

/// The tensors of every such decoder, and `more`.
std::vector<RoleRule> decoder_roles(std::initializer_list<RoleRule> more);

/// The families, one a file; families.cpp lists them.
const Family& llama_family();
const Family& qwen2_family();
const Family& qwen3_family();
const Family& qwen3moe_family();

}  // namespace ingot
