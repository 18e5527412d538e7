// The Spec and the tensor table that Llama-like decoder families share.
#pragma once

#include <initializer_list>

#include "model/family.h"

namespace ingot {

/// The Spec of a pre-norm, causal decoder with rotary embeddings, and gated feed-forward or
/// experts.
Spec decoder_spec(const Config& config);

/// The tensor table that all decoders of `decoder_spec` share, followed by the entries `more`.
std::vector<RoleRule> decoder_roles(std::initializer_list<RoleRule> more);

/// The supported families; families.cpp lists them.
const Family& llama_family();
const Family& qwen2_family();
const Family& qwen3_family();
const Family& qwen3moe_family();

}  // namespace ingot
