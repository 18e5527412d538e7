// Lists of tensor roles, from which the families' tensor tables are put together.
#pragma once

#include <initializer_list>
#include <vector>

#include "model/family.h"

namespace ingot::role_lists {

using Roles = std::vector<RoleRule>;

inline constexpr Presence kRequired = Presence::kRequired;
inline constexpr Presence kOptional = Presence::kOptional;

/// Adds rules to a list. A rule replaces an earlier rule of the same role.
Roles with(Roles roles, std::initializer_list<RoleRule> more);
Roles with(Roles roles, const Roles& more);
/// Removes the rules of some roles.
Roles without(Roles roles, std::initializer_list<TensorRole> absent);

/// A decoder with norms before the attention and the feed-forward layer, which is gated and dense.
/// Biases are optional.
Roles decoder();
/// Norms of each query and key head; checkpoints have both or none.
Roles head_norms(Presence presence);
/// Norms of all query heads together, and of all key heads together.
Roles wide_norms();
/// Norms of each query and key head with weights for each head; checkpoints have both or none.
Roles norms_of_each_head();
/// A router and experts, one tensor for each expert in Hugging Face files.
Roles experts();
/// A shared expert beside the experts.
Roles shared_experts();

/// Families by relation. families.cpp joins these lists.
std::vector<Family> llama_families();       ///< Llama, Qwen, and decoders that differ in names only
std::vector<Family> gemma_families();       ///< Gemma 1 to 4, EmbeddingGemma
std::vector<Family> sandwich_families();    ///< decoders with norms of the sublayers' outputs
std::vector<Family> layer_norm_families();  ///< Command-R, StableLM, StarCoder2
std::vector<Family> expert_families();      ///< Granite MoE, GPT-OSS, DeepSeek, GLM-4.5, OLMoE
std::vector<Family> encoder_families();     ///< BERT and its successors

}  // namespace ingot::role_lists
