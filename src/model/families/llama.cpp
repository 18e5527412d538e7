// Llama, Mistral, Mixtral, Qwen2, Qwen3, and decoders that differ from them in names only.
#include "model/families/role_lists.h"

namespace ingot::role_lists {

using R = TensorRole;

namespace {

/// Mixtral's experts. Old GGUF files have one tensor for each expert.
Roles mixtral_experts() {
  return {
      {R::kRouter, kRequired, {{}, "layers.%.block_sparse_moe.gate.weight"}},
      {R::kExpertGate, kRequired, {{}, "layers.%.block_sparse_moe.experts.%.w1.weight"}},
      {R::kExpertUp, kRequired, {{}, "layers.%.block_sparse_moe.experts.%.w3.weight"}},
      {R::kExpertDown, kRequired, {{}, "layers.%.block_sparse_moe.experts.%.w2.weight"}},
  };
}

/// Qwen2's attention always has biases.
Roles qwen2() {
  return with(decoder(),
              {{R::kQBias, kRequired, {}}, {R::kKBias, kRequired, {}}, {R::kVBias, kRequired, {}}});
}

/// Qwen2-MoE's shared expert, with a gate of its own.
Roles qwen2_shared_expert() {
  return {{R::kSharedGate, kRequired, {{}, "layers.%.mlp.shared_expert.gate_proj.weight"}},
          {R::kSharedUp, kRequired, {{}, "layers.%.mlp.shared_expert.up_proj.weight"}},
          {R::kSharedDown, kRequired, {{}, "layers.%.mlp.shared_expert.down_proj.weight"}},
          {R::kSharedRouter, kRequired, {}}};
}

Roles hunyuan_norms() {
  return {{R::kQNorm, kRequired, {{}, "layers.%.self_attn.query_layernorm.weight"}},
          {R::kKNorm, kRequired, {{}, "layers.%.self_attn.key_layernorm.weight"}}};
}

/// Phi-3's matrices are fused in both namings.
Roles phi3() {
  return with(without(decoder(), {R::kQ, R::kK, R::kV, R::kGate, R::kUp}),
              {{R::kQkv, kRequired, {}},
               {R::kGateUp, kRequired, {"blk.%.ffn_up.weight", {}}},
               {R::kShortFactors, kOptional, {}},
               {R::kLongFactors, kOptional, {}}});
}

}  // namespace

std::vector<Family> llama_families() {
  const Roles seed_oss = with(
      decoder(),
      {{R::kFfnNorm, kRequired, {"blk.%.post_attention_norm.weight|blk.%.ffn_norm.weight", {}}}});
  return {
      {.architectures = {"llama"}, .roles = with(decoder(), mixtral_experts()), .unused = {}},
      {.architectures = {"qwen2"}, .roles = qwen2(), .unused = {}},
      {.architectures = {"qwen2moe"},
       .roles = with(with(qwen2(), experts()), qwen2_shared_expert()),
       .unused = {}},
      {.architectures = {"qwen3"}, .roles = with(decoder(), head_norms(kOptional)), .unused = {}},
      {.architectures = {"qwen3moe"},
       .roles = with(with(decoder(), head_norms(kOptional)), experts()),
       .unused = {}},
      {.architectures = {"granite", "smollm3", "ernie4_5"}, .roles = decoder(), .unused = {}},
      {.architectures = {"hunyuan-dense"}, .roles = with(decoder(), hunyuan_norms()), .unused = {}},
      {.architectures = {"seed_oss"}, .roles = seed_oss, .unused = {}},
      {.architectures = {"phi3"}, .roles = phi3(), .unused = {}},
  };
}

}  // namespace ingot::role_lists
