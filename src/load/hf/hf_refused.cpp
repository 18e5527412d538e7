// Refuses keys of config.json that would change the arithmetic, but that the family does not read.
#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/text.h"
#include "load/architectures.h"
#include "load/hf/hf_parts.h"

namespace ingot {

namespace {

/// A key, and the values with which it changes nothing, as JSON. Null always changes nothing.
struct Neutral {
  std::string_view key;
  std::array<std::string_view, 3> values{};
};

/// Keys of some families that change the arithmetic, but no names or shapes of tensors.
constexpr std::array kNeutral = std::to_array<Neutral>({
    {"attn_logit_softcapping"},
    {"final_logit_softcapping"},
    {"query_pre_attn_scalar"},
    {"attention_multiplier"},
    {"scale_depth"},
    {"dim_model_base"},
    {"clip_qkv"},
    {"no_rope_layers"},
    {"no_rope_layer_interval"},
    {"nope_layer_interval"},
    {"attention_chunk_size"},
    {"sliding_window_pattern"},
    {"rope_local_base_freq"},
    {"rotary_dim"},
    {"rotary_scaling_factor"},
    {"shared_expert_intermediate_size", {"0"}},
    {"shared_intermediate_size", {"0"}},
    {"n_shared_experts", {"0"}},
    {"num_shared_experts", {"0"}},
    {"n_routed_experts", {"0"}},
    {"num_experts", {"0", "1"}},
    {"num_local_experts", {"0", "1"}},
    {"moe_every_n_layers", {"0"}},
    {"moe_layer_freq", {"1"}},
    {"interleave_moe_layer_step", {"1"}},
    {"residual_multiplier", {"1"}},
    {"embedding_multiplier", {"1"}},
    {"logits_scaling", {"1"}},
    {"logit_scale", {"1"}},
    {"lm_head_multiplier", {"1"}},
    {"scale_emb", {"1"}},
    {"rotary_pct", {"1"}},
    {"rope_ratio", {"1"}},
    {"routed_scaling_factor", {"1"}},
    {"full_attn_mod", {"1"}},
    {"interpolate_factor", {"1"}},
    {"swiglu_limit"},
    {"swiglu_alpha"},
    {"relative_attention_num_buckets"},
    {"hidden_size_per_layer_input", {"0"}},
    {"num_kv_shared_layers", {"0"}},
    {"attn_temperature_tuning", {"false"}},
    {"rope_interleave", {"false"}},
    {"rope_interleaved", {"false"}},
    {"rotary_emb_interleaved", {"false"}},
    {"use_mrope", {"false"}},
    {"use_dynamic_ntk", {"false"}},
    {"use_logn_attn", {"false"}},
    {"alibi", {"false"}},
    {"use_alibi", {"false"}},
    {"parallel_attn", {"false"}},
    {"use_parallel_residual", {"false"}},
    {"parallel_residual", {"false"}},
    {"parallel_block", {"false"}},
    {"use_bidirectional_attention", {"false"}},
    {"is_encoder_decoder", {"false"}},
    {"is_decoder", {"false"}},
    {"add_cross_attention", {"false"}},
    {"use_cla", {"false"}},
    {"use_mla", {"false"}},
    {"position_embedding_xdrope", {"false"}},
    {"use_mixed_mlp_moe", {"false"}},
    {"enable_moe_block", {"false"}},
    {"lm_head_bias", {"false"}},
    {"prenorm", {"false"}},
    {"use_rms_norm", {"false"}},
    {"use_rotary_pos_emb", {"true"}},
    {"use_gated_activation", {"true"}},
    {"scoring_func", {"\"softmax\""}},
    {"topk_method", {"\"greedy\""}},
    {"order_of_interleaved_layers", {"\"local_attn_first\""}},
    {"position_embedding_type", {"\"absolute\"", "\"rope\"", "\"rope_gptj\""}},
});

bool is_number(const Json& value, std::string_view text) {
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() && value.number() == number;
}

bool is_neutral(const Json& value, const Neutral& neutral) {
  return std::any_of(neutral.values.begin(), neutral.values.end(), [&](std::string_view text) {
    return !text.empty() && (value.dump() == text || is_number(value, text));
  });
}

void refuse(const HfKeys& keys, std::string_view key, const Json& value) {
  const JsonKeys& members = keys.members();
  const std::string name = cat(members.prefix(), key);
  if (keys.notes().accepts(members.file(), name, shown(value))) return;
  members.refuse(
      key, cat("it is not supported for ", keys.family().model_type, LoadNotes::advice(name)));
}

/// Whether the family's attention is causal decides which value of these keys changes nothing.
void refuse_other_masks(const HfKeys& keys) {
  const bool causal = find_architecture(keys.family().architecture)->causal;
  for (const std::string_view key : {"is_causal", "causal"}) {
    const Json* value = keys.members().get(key);
    if (value == nullptr) continue;
    const bool* said = value->as_bool();
    if (said == nullptr || *said != causal) refuse(keys, key, *value);
  }
}

}  // namespace

void refuse_quantisation(const JsonKeys& members, bool accepts_mxfp4) {
  for (const std::string_view key : {"quantization_config", "compression_config", "quantization"}) {
    const Json* value = members.get(key);
    if (value == nullptr) continue;
    const Json* method = value->find("quant_method");
    if (method == nullptr) method = value->find("mode");
    const std::string* name = method == nullptr ? nullptr : method->as_string();
    if (accepts_mxfp4 && name != nullptr && *name == "mxfp4") continue;
    members.fail(cat(members.prefix(), key, " method ",
                     method == nullptr ? "(not named)" : shown(*method), " is not supported"));
  }
}

void refuse_unapplied(const HfKeys& keys) {
  refuse_quantisation(keys.members(), keys.family().reads("quantization_config"));
  for (const Neutral& neutral : kNeutral) {
    const Json* value = keys.members().get(neutral.key);
    if (value == nullptr || keys.family().reads(neutral.key) || is_neutral(*value, neutral)) {
      continue;
    }
    refuse(keys, neutral.key, *value);
  }
  refuse_other_masks(keys);
}

}  // namespace ingot
