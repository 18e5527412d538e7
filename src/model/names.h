// TensorRole: what a tensor is for, and its names in GGUF and Hugging Face files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "load/config.h"

namespace ingot {

/// What a tensor is for.
///
/// Roles up to kLongFactors exist once per model, roles from kAttnNorm to kSelectionBias once
/// per layer, and later roles once per layer and expert. A file may stack a layer's experts in one
/// tensor. "Fused" matrices stand in one tensor, one below the other.
enum class TensorRole : std::uint8_t {
  kEmbedding,
  kPositions,      ///< learned position embeddings
  kTypes,          ///< embeddings of token types
  kEmbeddingNorm,  ///< norm of the sum of embeddings
  kEmbeddingNormBias,
  kRelativeBias,         ///< attention biases by bucket of relative position (MPNet)
  kLayerEmbedding,       ///< each layer's own token embedding, all layers in one row (Gemma 4)
  kLayerProjection,      ///< projects token embeddings to inputs of all layers (Gemma 4)
  kLayerProjectionNorm,  ///< norm of each layer's slice of the projection
  kFinalNorm,
  kFinalNormBias,
  kHead,
  kRopeFreqs,     ///< divisors of rotary frequencies
  kShortFactors,  ///< longrope's divisors up to the original context
  kLongFactors,   ///< longrope's divisors above the original context

  kAttnNorm,
  kAttnNormBias,
  kQkv,  ///< queries, keys and values, fused
  kQkvBias,
  kQ,
  kK,
  kV,
  kAttnOut,
  kQBias,
  kKBias,
  kVBias,
  kAttnOutBias,
  kQNorm,  ///< norm of each query head, with one weight for all heads
  kKNorm,
  kQNormWide,  ///< norm of all query heads together
  kKNormWide,
  kQNormEach,  ///< norm of each query head, with a weight for each head
  kKNormEach,
  kSinks,      ///< a logit for each query head that joins the softmax's denominator
  kQDown,      ///< MLA: projects to the latent of queries
  kQDownNorm,  ///< MLA: norm of that latent
  kQUp,        ///< MLA: projects that latent to queries
  kKvDown,     ///< MLA: projects to the latent of keys and values, and to the rotary key
  kKvDownNorm,
  kKvUp,          ///< MLA: projects the latent to keys and values; for each head, keys above values
  kKUp,           ///< MLA: projects queries to the latent of keys, for each head
  kVUp,           ///< MLA: projects the latent to values, for each head
  kAttnOutNorm,   ///< norm of the attention's output, before it is added
  kAttnPostNorm,  ///< norm of the residual stream after the attention's output is added
  kAttnPostNormBias,
  kFfnNorm,
  kFfnNormBias,
  kGateUp,  ///< gate and up, fused
  kGateUpBias,
  kGate,
  kUp,
  kDown,
  kGateBias,
  kUpBias,
  kDownBias,
  kFfnOutNorm,
  kFfnPostNorm,
  kFfnPostNormBias,
  kSharedGateUp,  ///< shared experts: gate and up, fused
  kSharedGate,
  kSharedUp,
  kSharedDown,
  kSharedRouter,    ///< row whose sigmoid multiplies the shared experts' output
  kLayerInputGate,  ///< Gemma 4: projects the residual stream to the width of a layer's input
  kLayerInputOut,   ///< Gemma 4: projects back
  kLayerInputNorm,
  kLayerScalar,  ///< factor of a layer's output
  kRouter,
  kRouterBias,
  kSelectionBias,  ///< added to the experts' scores only to choose experts

  kExpertGate,
  kExpertUp,
  kExpertDown,
  kExpertGateBias,
  kExpertUpBias,
  kExpertDownBias,
  kExpertGateUp,        ///< gate and up of all experts, fused and stacked
  kExpertGateUpTurned,  ///< as kExpertGateUp, with inputs as rows; gate and up columns alternate
  kExpertDownTurned,    ///< stacked, with inputs as rows
  kExpertGateUpBias,    ///< biases of gate and up, which alternate
  kExpertGateUpBlocks,  ///< MXFP4 codes; rows of gate and up alternate
  kExpertGateUpScales,
  kExpertDownBlocks,
  kExpertDownScales,
  kRoles,  ///< number of roles
};

/// Names of a role as patterns. "%" stands for a layer, then for an expert or a head. "|" separates
/// spellings, of which the first is usual. A Hugging Face name follows the model's prefix
/// ("model."), or with a leading "^" no prefix. "-": files with this naming have no such tensor.
struct RoleNames {
  std::string_view gguf;
  std::string_view hugging_face;

  std::string_view of(Naming naming) const { return naming == Naming::kGguf ? gguf : hugging_face; }
};

/// The usual prefix of Hugging Face names.
inline constexpr std::string_view kModelPrefix = "model.";
/// Prefixes of the language model's tensors in Hugging Face files. Base models have none;
/// multimodal models have those of their language model.
inline constexpr std::array<std::string_view, 9> kModelPrefixes{kModelPrefix,
                                                                "",
                                                                "language_model.model.",
                                                                "model.language_model.",
                                                                "language_model.",
                                                                "bert.",
                                                                "roberta.",
                                                                "mpnet.",
                                                                "transformer."};

/// Returns the names of a role in most families.
RoleNames default_names(TensorRole role);

/// Returns all spellings of a pattern for a layer and an expert; none for the pattern "-".
std::vector<std::string> spellings(std::string_view pattern, std::string_view prefix,
                                   std::int64_t layer, std::int64_t expert);

/// Returns whether a pattern has a number of its own for each expert or head.
bool counts_experts(std::string_view pattern);

/// Returns a tensor's usual name; empty if files with this naming never have a tensor of this role.
std::string tensor_name(const RoleNames& names, Naming naming, std::int64_t layer = 0,
                        std::int64_t expert = 0);
std::string tensor_name(TensorRole role, Naming naming, std::int64_t layer = 0,
                        std::int64_t expert = 0);

/// Formats both names of a role: "blk.3.attn_q.weight (model.layers.3.self_attn.q_proj.weight)".
std::string role_names(const RoleNames& names, std::int64_t layer = 0, std::int64_t expert = 0);
std::string role_names(TensorRole role, std::int64_t layer = 0, std::int64_t expert = 0);

/// Returns whether loading may ignore a tensor: the configuration implies this tensor's contents.
bool is_ignorable(std::string_view name);

}  // namespace ingot
