// The table of tensor names in GGUF and Hugging Face files. "%" stands for a layer, then an expert.
#include "model/names.h"

#include <array>

#include "base/check.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

struct Spelling {
  TensorRole role;
  std::string_view gguf;
  std::string_view hugging_face;
};

constexpr std::array kSpellings{
    Spelling{TensorRole::kEmbedding, "token_embd.weight", "model.embed_tokens.weight"},
    Spelling{TensorRole::kFinalNorm, "output_norm.weight", "model.norm.weight"},
    Spelling{TensorRole::kHead, "output.weight", "lm_head.weight"},
    Spelling{TensorRole::kRopeFreqs, "rope_freqs.weight", ""},
    Spelling{TensorRole::kAttnNorm, "blk.%.attn_norm.weight",
             "model.layers.%.input_layernorm.weight"},
    Spelling{TensorRole::kQ, "blk.%.attn_q.weight", "model.layers.%.self_attn.q_proj.weight"},
    Spelling{TensorRole::kK, "blk.%.attn_k.weight", "model.layers.%.self_attn.k_proj.weight"},
    Spelling{TensorRole::kV, "blk.%.attn_v.weight", "model.layers.%.self_attn.v_proj.weight"},
    Spelling{TensorRole::kAttnOut, "blk.%.attn_output.weight",
             "model.layers.%.self_attn.o_proj.weight"},
    Spelling{TensorRole::kQBias, "blk.%.attn_q.bias", "model.layers.%.self_attn.q_proj.bias"},
    Spelling{TensorRole::kKBias, "blk.%.attn_k.bias", "model.layers.%.self_attn.k_proj.bias"},
    Spelling{TensorRole::kVBias, "blk.%.attn_v.bias", "model.layers.%.self_attn.v_proj.bias"},
    Spelling{TensorRole::kAttnOutBias, "blk.%.attn_output.bias",
             "model.layers.%.self_attn.o_proj.bias"},
    Spelling{TensorRole::kQNorm, "blk.%.attn_q_norm.weight",
             "model.layers.%.self_attn.q_norm.weight"},
    Spelling{TensorRole::kKNorm, "blk.%.attn_k_norm.weight",
             "model.layers.%.self_attn.k_norm.weight"},
    Spelling{TensorRole::kFfnNorm, "blk.%.ffn_norm.weight",
             "model.layers.%.post_attention_layernorm.weight"},
    Spelling{TensorRole::kGate, "blk.%.ffn_gate.weight", "model.layers.%.mlp.gate_proj.weight"},
    Spelling{TensorRole::kUp, "blk.%.ffn_up.weight", "model.layers.%.mlp.up_proj.weight"},
    Spelling{TensorRole::kDown, "blk.%.ffn_down.weight", "model.layers.%.mlp.down_proj.weight"},
    Spelling{TensorRole::kGateBias, "blk.%.ffn_gate.bias", "model.layers.%.mlp.gate_proj.bias"},
    Spelling{TensorRole::kUpBias, "blk.%.ffn_up.bias", "model.layers.%.mlp.up_proj.bias"},
    Spelling{TensorRole::kDownBias, "blk.%.ffn_down.bias", "model.layers.%.mlp.down_proj.bias"},
    Spelling{TensorRole::kRouter, "blk.%.ffn_gate_inp.weight", "model.layers.%.mlp.gate.weight"},
    Spelling{TensorRole::kExpertGate, "blk.%.ffn_gate_exps.weight",
             "model.layers.%.mlp.experts.%.gate_proj.weight"},
    Spelling{TensorRole::kExpertUp, "blk.%.ffn_up_exps.weight",
             "model.layers.%.mlp.experts.%.up_proj.weight"},
    Spelling{TensorRole::kExpertDown, "blk.%.ffn_down_exps.weight",
             "model.layers.%.mlp.experts.%.down_proj.weight"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kSpellings.size(); ++i) {
    if (to_size(kSpellings[i].role) != i) return false;
  }
  return true;
}
static_assert(in_order(), "spellings stand in the order of TensorRole");

/// Replaces the first "%" by a number, if there is one.
std::string fill(std::string text, std::int64_t number) {
  const std::size_t at = text.find('%');
  return at == std::string::npos ? text : text.replace(at, 1, cat(number));
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

}  // namespace

std::string tensor_name(TensorRole role, Naming naming, std::int64_t layer, std::int64_t expert) {
  const Spelling& s = at(kSpellings, role);
  const std::string_view pattern = naming == Naming::kGguf ? s.gguf : s.hugging_face;
  return fill(fill(std::string(pattern), layer), expert);
}

std::string role_names(TensorRole role, std::int64_t layer, std::int64_t expert) {
  const std::string hf = tensor_name(role, Naming::kHuggingFace, layer, expert);
  const std::string gguf = tensor_name(role, Naming::kGguf, layer, expert);
  return hf.empty() ? gguf : cat(gguf, " (", hf, ")");
}

bool is_ignorable(std::string_view name) {
  // Old checkpoints store these buffers, which follow from the configuration.
  return ends_with(name, ".rotary_emb.inv_freq") || name == "position_ids" ||
         ends_with(name, ".position_ids");
}

}  // namespace ingot
