// The table of tensor names in GGUF and Hugging Face files, and how names are made from it.
//
// Sources: transformers 5.24 (models/*/modeling_*.py), gguf-py 0.19 (constants.py).
#include "model/names.h"

#include <array>

#include "base/check.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

struct Spelling {
  TensorRole role;
  RoleNames names;
};

using R = TensorRole;

constexpr std::array kSpellings = std::to_array<Spelling>({
    {R::kEmbedding, {"token_embd.weight", "embed_tokens.weight"}},
    {R::kPositions, {"position_embd.weight", "embeddings.position_embeddings.weight"}},
    {R::kTypes, {"token_types.weight", "embeddings.token_type_embeddings.weight"}},
    {R::kEmbeddingNorm,
     {"token_embd_norm.weight", "embeddings.LayerNorm.weight|embeddings.LayerNorm.gamma"}},
    {R::kEmbeddingNormBias,
     {"token_embd_norm.bias", "embeddings.LayerNorm.bias|embeddings.LayerNorm.beta"}},
    {R::kRelativeBias, {"-", "encoder.relative_attention_bias.weight"}},
    {R::kLayerEmbedding, {"per_layer_token_embd.weight", "embed_tokens_per_layer.weight"}},
    {R::kLayerProjection, {"per_layer_model_proj.weight", "per_layer_model_projection.weight"}},
    {R::kLayerProjectionNorm, {"per_layer_proj_norm.weight", "per_layer_projection_norm.weight"}},
    {R::kFinalNorm, {"output_norm.weight", "norm.weight"}},
    {R::kFinalNormBias, {"output_norm.bias", "norm.bias"}},
    {R::kHead, {"output.weight", "^lm_head.weight|^language_model.lm_head.weight"}},
    {R::kRopeFreqs, {"rope_freqs.weight", "-"}},
    {R::kShortFactors, {"rope_factors_short.weight", "-"}},
    {R::kLongFactors, {"rope_factors_long.weight", "-"}},

    {R::kAttnNorm, {"blk.%.attn_norm.weight", "layers.%.input_layernorm.weight"}},
    {R::kAttnNormBias, {"blk.%.attn_norm.bias", "layers.%.input_layernorm.bias"}},
    {R::kQkv, {"blk.%.attn_qkv.weight", "layers.%.self_attn.qkv_proj.weight"}},
    {R::kQkvBias, {"blk.%.attn_qkv.bias", "layers.%.self_attn.qkv_proj.bias"}},
    {R::kQ, {"blk.%.attn_q.weight", "layers.%.self_attn.q_proj.weight"}},
    {R::kK, {"blk.%.attn_k.weight", "layers.%.self_attn.k_proj.weight"}},
    {R::kV, {"blk.%.attn_v.weight", "layers.%.self_attn.v_proj.weight"}},
    {R::kAttnOut, {"blk.%.attn_output.weight", "layers.%.self_attn.o_proj.weight"}},
    {R::kQBias, {"blk.%.attn_q.bias", "layers.%.self_attn.q_proj.bias"}},
    {R::kKBias, {"blk.%.attn_k.bias", "layers.%.self_attn.k_proj.bias"}},
    {R::kVBias, {"blk.%.attn_v.bias", "layers.%.self_attn.v_proj.bias"}},
    {R::kAttnOutBias, {"blk.%.attn_output.bias", "layers.%.self_attn.o_proj.bias"}},
    {R::kQNorm, {"blk.%.attn_q_norm.weight", "layers.%.self_attn.q_norm.weight"}},
    {R::kKNorm, {"blk.%.attn_k_norm.weight", "layers.%.self_attn.k_norm.weight"}},
    {R::kQNormWide, {"blk.%.attn_q_norm.weight", "layers.%.self_attn.q_norm.weight"}},
    {R::kKNormWide, {"blk.%.attn_k_norm.weight", "layers.%.self_attn.k_norm.weight"}},
    {R::kQNormEach, {"blk.%.attn_q_norm.weight", "layers.%.self_attn.q_norm.weight"}},
    {R::kKNormEach, {"blk.%.attn_k_norm.weight", "layers.%.self_attn.k_norm.weight"}},
    {R::kSinks, {"blk.%.attn_sinks.weight|blk.%.attn_sinks", "layers.%.self_attn.sinks"}},
    {R::kQDown, {"blk.%.attn_q_a.weight", "layers.%.self_attn.q_a_proj.weight"}},
    {R::kQDownNorm, {"blk.%.attn_q_a_norm.weight", "layers.%.self_attn.q_a_layernorm.weight"}},
    {R::kQUp, {"blk.%.attn_q_b.weight", "layers.%.self_attn.q_b_proj.weight"}},
    {R::kKvDown, {"blk.%.attn_kv_a_mqa.weight", "layers.%.self_attn.kv_a_proj_with_mqa.weight"}},
    {R::kKvDownNorm, {"blk.%.attn_kv_a_norm.weight", "layers.%.self_attn.kv_a_layernorm.weight"}},
    {R::kKvUp, {"blk.%.attn_kv_b.weight", "layers.%.self_attn.kv_b_proj.weight"}},
    {R::kKUp, {"blk.%.attn_k_b.weight", "-"}},
    {R::kVUp, {"blk.%.attn_v_b.weight", "-"}},
    {R::kAttnOutNorm,
     {"blk.%.post_attention_norm.weight", "layers.%.post_attention_layernorm.weight"}},
    {R::kAttnPostNorm,
     {"blk.%.attn_output_norm.weight",
      "encoder.layer.%.attention.output.LayerNorm.weight|"
      "encoder.layer.%.attention.output.LayerNorm.gamma"}},
    {R::kAttnPostNormBias,
     {"blk.%.attn_output_norm.bias",
      "encoder.layer.%.attention.output.LayerNorm.bias|"
      "encoder.layer.%.attention.output.LayerNorm.beta"}},
    {R::kFfnNorm, {"blk.%.ffn_norm.weight", "layers.%.post_attention_layernorm.weight"}},
    {R::kFfnNormBias, {"blk.%.ffn_norm.bias", "layers.%.post_attention_layernorm.bias"}},
    {R::kGateUp, {"blk.%.ffn_gate_up.weight", "layers.%.mlp.gate_up_proj.weight"}},
    {R::kGateUpBias, {"blk.%.ffn_gate_up.bias", "layers.%.mlp.gate_up_proj.bias"}},
    {R::kGate, {"blk.%.ffn_gate.weight", "layers.%.mlp.gate_proj.weight"}},
    {R::kUp, {"blk.%.ffn_up.weight", "layers.%.mlp.up_proj.weight"}},
    {R::kDown, {"blk.%.ffn_down.weight", "layers.%.mlp.down_proj.weight"}},
    {R::kGateBias, {"blk.%.ffn_gate.bias", "layers.%.mlp.gate_proj.bias"}},
    {R::kUpBias, {"blk.%.ffn_up.bias", "layers.%.mlp.up_proj.bias"}},
    {R::kDownBias, {"blk.%.ffn_down.bias", "layers.%.mlp.down_proj.bias"}},
    {R::kFfnOutNorm, {"blk.%.post_ffw_norm.weight", "layers.%.post_feedforward_layernorm.weight"}},
    {R::kFfnPostNorm,
     {"blk.%.layer_output_norm.weight",
      "encoder.layer.%.output.LayerNorm.weight|encoder.layer.%.output.LayerNorm.gamma"}},
    {R::kFfnPostNormBias,
     {"blk.%.layer_output_norm.bias",
      "encoder.layer.%.output.LayerNorm.bias|encoder.layer.%.output.LayerNorm.beta"}},
    {R::kSharedGateUp, {"-", "layers.%.shared_mlp.input_linear.weight"}},
    {R::kSharedGate,
     {"blk.%.ffn_gate_shexp.weight", "layers.%.mlp.shared_experts.gate_proj.weight"}},
    {R::kSharedUp, {"blk.%.ffn_up_shexp.weight", "layers.%.mlp.shared_experts.up_proj.weight"}},
    {R::kSharedDown,
     {"blk.%.ffn_down_shexp.weight", "layers.%.mlp.shared_experts.down_proj.weight"}},
    {R::kSharedRouter,
     {"blk.%.ffn_gate_inp_shexp.weight", "layers.%.mlp.shared_expert_gate.weight"}},
    {R::kLayerInputGate, {"blk.%.inp_gate.weight", "layers.%.per_layer_input_gate.weight"}},
    {R::kLayerInputOut, {"blk.%.proj.weight", "layers.%.per_layer_projection.weight"}},
    {R::kLayerInputNorm, {"blk.%.post_norm.weight", "layers.%.post_per_layer_input_norm.weight"}},
    {R::kLayerScalar, {"blk.%.layer_output_scale.weight", "layers.%.layer_scalar"}},
    {R::kRouter, {"blk.%.ffn_gate_inp.weight", "layers.%.mlp.gate.weight"}},
    {R::kRouterBias, {"blk.%.ffn_gate_inp.bias", "layers.%.mlp.gate.bias"}},
    {R::kSelectionBias,
     {"blk.%.exp_probs_b.bias|blk.%.exp_probs_b", "layers.%.mlp.gate.e_score_correction_bias"}},

    {R::kExpertGate, {"blk.%.ffn_gate_exps.weight", "layers.%.mlp.experts.%.gate_proj.weight"}},
    {R::kExpertUp, {"blk.%.ffn_up_exps.weight", "layers.%.mlp.experts.%.up_proj.weight"}},
    {R::kExpertDown, {"blk.%.ffn_down_exps.weight", "layers.%.mlp.experts.%.down_proj.weight"}},
    {R::kExpertGateBias, {"blk.%.ffn_gate_exps.bias", "-"}},
    {R::kExpertUpBias, {"blk.%.ffn_up_exps.bias", "-"}},
    {R::kExpertDownBias, {"blk.%.ffn_down_exps.bias", "layers.%.mlp.experts.down_proj_bias"}},
    {R::kExpertGateUp, {"blk.%.ffn_gate_up_exps.weight", "-"}},
    {R::kExpertGateUpTurned, {"-", "layers.%.mlp.experts.gate_up_proj"}},
    {R::kExpertDownTurned, {"-", "layers.%.mlp.experts.down_proj"}},
    {R::kExpertGateUpBias, {"-", "layers.%.mlp.experts.gate_up_proj_bias"}},
    {R::kExpertGateUpBlocks, {"-", "layers.%.mlp.experts.gate_up_proj_blocks"}},
    {R::kExpertGateUpScales, {"-", "layers.%.mlp.experts.gate_up_proj_scales"}},
    {R::kExpertDownBlocks, {"-", "layers.%.mlp.experts.down_proj_blocks"}},
    {R::kExpertDownScales, {"-", "layers.%.mlp.experts.down_proj_scales"}},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < kSpellings.size(); ++i) {
    if (to_size(kSpellings[i].role) != i) return false;
  }
  return kSpellings.size() == to_size(TensorRole::kRoles);
}
static_assert(in_order(), "spellings stand in the order of TensorRole");

constexpr std::string_view kNoName = "-";

/// Replaces the first "%" by a number, if there is one.
std::string fill(std::string text, std::int64_t number) {
  const std::size_t at = text.find('%');
  return at == std::string::npos ? text : text.replace(at, 1, cat(number));
}

/// The first of the spellings that "|" separates; removes it from `patterns`.
std::string_view next_spelling(std::string_view& patterns) {
  const std::size_t end = patterns.find('|');
  const std::string_view first = patterns.substr(0, end);
  patterns = end == std::string_view::npos ? "" : patterns.substr(end + 1);
  return first;
}

}  // namespace

RoleNames default_names(TensorRole role) { return at(kSpellings, role).names; }

std::vector<std::string> spellings(std::string_view pattern, std::string_view prefix,
                                   std::int64_t layer, std::int64_t expert) {
  std::vector<std::string> names;
  while (!pattern.empty() && pattern != kNoName) {
    const std::string_view one = next_spelling(pattern);
    std::string text = one.front() == '^' ? std::string(one.substr(1)) : cat(prefix, one);
    names.push_back(fill(fill(std::move(text), layer), expert));
  }
  return names;
}

bool counts_experts(std::string_view pattern) {
  const std::string_view first = next_spelling(pattern);
  const std::size_t layer = first.find('%');
  return layer != std::string_view::npos && first.find('%', layer + 1) != std::string_view::npos;
}

std::string tensor_name(const RoleNames& names, Naming naming, std::int64_t layer,
                        std::int64_t expert) {
  const std::string_view prefix = naming == Naming::kGguf ? "" : kModelPrefix;
  const auto all = spellings(names.of(naming), prefix, layer, expert);
  return all.empty() ? std::string() : all.front();
}

std::string tensor_name(TensorRole role, Naming naming, std::int64_t layer, std::int64_t expert) {
  return tensor_name(default_names(role), naming, layer, expert);
}

std::string role_names(const RoleNames& names, std::int64_t layer, std::int64_t expert) {
  const std::string hf = tensor_name(names, Naming::kHuggingFace, layer, expert);
  const std::string gguf = tensor_name(names, Naming::kGguf, layer, expert);
  if (gguf.empty()) return hf;
  return hf.empty() ? gguf : cat(gguf, " (", hf, ")");
}

std::string role_names(TensorRole role, std::int64_t layer, std::int64_t expert) {
  return role_names(default_names(role), layer, expert);
}

bool is_ignorable(std::string_view name) {
  // Old checkpoints store these buffers, which follow from the configuration.
  return name.ends_with(".rotary_emb.inv_freq") || name == "position_ids" ||
         name.ends_with(".position_ids");
}

}  // namespace ingot
