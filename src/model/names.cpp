// Tensor names in both spellings. A "%" stands for the layer, a second one for the expert.
#include "model/names.h"

#include <array>

#include "base/check.h"
#include "base/text.h"

namespace ingot {

namespace {

struct Spelling {
  Slot slot;
  std::string_view gguf;
  std::string_view hugging_face;
};

constexpr std::array kSpellings{
    Spelling{Slot::kEmbedding, "token_embd.weight", "model.embed_tokens.weight"},
    Spelling{Slot::kFinalNorm, "output_norm.weight", "model.norm.weight"},
    Spelling{Slot::kHead, "output.weight", "lm_head.weight"},
    Spelling{Slot::kRopeFreqs, "rope_freqs.weight", ""},
    Spelling{Slot::kAttnNorm, "blk.%.attn_norm.weight", "model.layers.%.input_layernorm.weight"},
    Spelling{Slot::kQ, "blk.%.attn_q.weight", "model.layers.%.self_attn.q_proj.weight"},
    Spelling{Slot::kK, "blk.%.attn_k.weight", "model.layers.%.self_attn.k_proj.weight"},
    Spelling{Slot::kV, "blk.%.attn_v.weight", "model.layers.%.self_attn.v_proj.weight"},
    Spelling{Slot::kAttnOut, "blk.%.attn_output.weight", "model.layers.%.self_attn.o_proj.weight"},
    Spelling{Slot::kQBias, "blk.%.attn_q.bias", "model.layers.%.self_attn.q_proj.bias"},
    Spelling{Slot::kKBias, "blk.%.attn_k.bias", "model.layers.%.self_attn.k_proj.bias"},
    Spelling{Slot::kVBias, "blk.%.attn_v.bias", "model.layers.%.self_attn.v_proj.bias"},
    Spelling{Slot::kAttnOutBias, "blk.%.attn_output.bias", "model.layers.%.self_attn.o_proj.bias"},
    Spelling{Slot::kQNorm, "blk.%.attn_q_norm.weight", "model.layers.%.self_attn.q_norm.weight"},
    Spelling{Slot::kKNorm, "blk.%.attn_k_norm.weight", "model.layers.%.self_attn.k_norm.weight"},
    Spelling{Slot::kFfnNorm, "blk.%.ffn_norm.weight",
             "model.layers.%.post_attention_layernorm.weight"},
    Spelling{Slot::kGate, "blk.%.ffn_gate.weight", "model.layers.%.mlp.gate_proj.weight"},
    Spelling{Slot::kUp, "blk.%.ffn_up.weight", "model.layers.%.mlp.up_proj.weight"},
    Spelling{Slot::kDown, "blk.%.ffn_down.weight", "model.layers.%.mlp.down_proj.weight"},
    Spelling{Slot::kGateBias, "blk.%.ffn_gate.bias", "model.layers.%.mlp.gate_proj.bias"},
    Spelling{Slot::kUpBias, "blk.%.ffn_up.bias", "model.layers.%.mlp.up_proj.bias"},
    Spelling{Slot::kDownBias, "blk.%.ffn_down.bias", "model.layers.%.mlp.down_proj.bias"},
    Spelling{Slot::kRouter, "blk.%.ffn_gate_inp.weight", "model.layers.%.mlp.gate.weight"},
    Spelling{Slot::kExpertGate, "blk.%.ffn_gate_exps.weight",
             "model.layers.%.mlp.experts.%.gate_proj.weight"},
    Spelling{Slot::kExpertUp, "blk.%.ffn_up_exps.weight",
             "model.layers.%.mlp.experts.%.up_proj.weight"},
    Spelling{Slot::kExpertDown, "blk.%.ffn_down_exps.weight",
             "model.layers.%.mlp.experts.%.down_proj.weight"},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kSpellings.size(); ++i) {
    if (static_cast<std::size_t>(kSpellings[i].slot) != i) return false;
  }
  return true;
}
static_assert(in_order(), "spellings stand in the order of Slot");

/// Replaces the first "%" by a number; text without one stays as it is.
std::string fill(std::string text, std::int64_t number) {
  const std::size_t at = text.find('%');
  return at == std::string::npos ? text : text.replace(at, 1, cat(number));
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

}  // namespace

std::string tensor_name(Slot slot, Naming naming, std::int64_t layer, std::int64_t expert) {
  const Spelling& s = kSpellings[static_cast<std::size_t>(slot)];
  const std::string_view pattern = naming == Naming::kGguf ? s.gguf : s.hugging_face;
  return fill(fill(std::string(pattern), layer), expert);
}

std::string slot_names(Slot slot, std::int64_t layer, std::int64_t expert) {
  const std::string hf = tensor_name(slot, Naming::kHuggingFace, layer, expert);
  const std::string gguf = tensor_name(slot, Naming::kGguf, layer, expert);
  return hf.empty() ? gguf : cat(gguf, " (", hf, ")");
}

bool is_ignorable(std::string_view name) {
  // Buffers that old checkpoints store and that follow from the configuration.
  return ends_with(name, ".rotary_emb.inv_freq") || name == "position_ids" ||
         ends_with(name, ".position_ids");
}

}  // namespace ingot
