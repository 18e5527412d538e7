// What all Llama-like decoders share: most of the Spec and of the tensor table.
#pragma once

#include <initializer_list>

#include "model/family.h"

namespace ingot {

/// A pre-norm, causal decoder with rotary embeddings and gated feed-forward or experts, as `config`
/// says.
Spec decoder_spec(const Config& config);

/// The tensors that every such decoder has, and `more`.
std::vector<SlotRule> decoder_slots(std::initializer_list<SlotRule> more);

/// The families, one a file; families.cpp lists them.
const Family& llama_family();
const Family& qwen2_family();
const Family& qwen3_family();
const Family& qwen3moe_family();

}  // namespace ingot
