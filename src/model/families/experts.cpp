// Granite MoE, GPT-OSS, DeepSeek V2 and V3, GLM-4.5 and OLMoE.
#include "model/families/role_lists.h"

namespace ingot::role_lists {

using R = TensorRole;

namespace {

/// Granite stacks its experts in Hugging Face files too.
Roles granite_experts() {
  return {
      {R::kRouter, kRequired, {{}, "layers.%.block_sparse_moe.router.layer.weight"}},
      {R::kExpertGateUp, kOptional, {{}, "layers.%.block_sparse_moe.input_linear.weight"}},
      {R::kExpertGate, kRequired, {{}, "-"}},
      {R::kExpertUp, kRequired, {{}, "-"}},
      {R::kExpertDown, kRequired, {{}, "layers.%.block_sparse_moe.output_linear.weight"}},
      {R::kSharedGateUp, kOptional, {}},
      {R::kSharedGate, kRequired, {{}, "-"}},
      {R::kSharedUp, kRequired, {{}, "-"}},
      {R::kSharedDown, kRequired, {{}, "layers.%.shared_mlp.output_linear.weight"}},
  };
}

/// Hugging Face files have experts in bfloat16 with inputs as rows, or in MXFP4.
Roles gpt_oss() {
  return with(
      with(decoder(), experts()),
      {{R::kFfnNorm, kRequired, {"blk.%.post_attention_norm.weight|blk.%.ffn_norm.weight", {}}},
       {R::kSinks, kRequired, {}},
       {R::kRouter, kRequired, {{}, "layers.%.mlp.router.weight"}},
       {R::kRouterBias, kRequired, {{}, "layers.%.mlp.router.bias"}},
       {R::kExpertGate, kRequired, {{}, "-"}},
       {R::kExpertUp, kRequired, {{}, "-"}},
       {R::kExpertDown, kRequired, {{}, "-"}},
       {R::kExpertGateBias, kRequired, {}},
       {R::kExpertUpBias, kRequired, {}},
       {R::kExpertDownBias, kRequired, {}},
       {R::kExpertGateUpBias, kRequired, {}},
       {R::kExpertGateUpTurned, kOptional, {}},
       {R::kExpertDownTurned, kRequired, {}},
       {R::kExpertGateUpBlocks, kOptional, {}},
       {R::kExpertGateUpScales, kRequired, {}},
       {R::kExpertDownBlocks, kRequired, {}},
       {R::kExpertDownScales, kRequired, {}}});
}

/// Multi-head latent attention. Old GGUF files have kKvUp in place of kKUp and kVUp.
Roles deepseek() {
  const Roles plain =
      without(decoder(), {R::kQkv, R::kQkvBias, R::kK, R::kV, R::kQBias, R::kKBias, R::kVBias});
  return with(with(with(plain, experts()), shared_experts()), {{R::kQDown, kRequired, {}},
                                                               {R::kQDownNorm, kRequired, {}},
                                                               {R::kQUp, kRequired, {}},
                                                               {R::kKvDown, kRequired, {}},
                                                               {R::kKvDownNorm, kRequired, {}},
                                                               {R::kKvUp, kRequired, {}},
                                                               {R::kKUp, kOptional, {}},
                                                               {R::kVUp, kRequired, {}},
                                                               {R::kSelectionBias, kOptional, {}}});
}

Roles glm4moe() {
  return with(
      with(with(with(decoder(), head_norms(kOptional)), experts()), shared_experts()),
      {{R::kFfnNorm, kRequired, {"blk.%.post_attention_norm.weight|blk.%.ffn_norm.weight", {}}},
       {R::kSelectionBias, kOptional, {}}});
}

}  // namespace

std::vector<Family> expert_families() {
  return {
      {.architectures = {"granitemoe"}, .roles = with(decoder(), granite_experts()), .unused = {}},
      {.architectures = {"gpt-oss"}, .roles = gpt_oss(), .unused = {}},
      {.architectures = {"deepseek2"}, .roles = deepseek(), .unused = {}},
      {.architectures = {"glm4moe"}, .roles = glm4moe(), .unused = {}},
      {.architectures = {"olmoe"},
       .roles = with(with(decoder(), wide_norms()), experts()),
       .unused = {}},
  };
}

}  // namespace ingot::role_lists
