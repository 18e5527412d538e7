// Reads sizes, norms, activations, biases, factors and caps of config.json.
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "load/hf/hf_parts.h"

namespace ingot {

namespace {

/// Names of activations in transformers. The two polynomials of tanh-GELU are equal.
constexpr std::array kActivations = std::to_array<std::pair<std::string_view, Activation>>({
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"swiglu", Activation::kSilu},
    {"gelu", Activation::kGeluErf},
    {"gelu_python", Activation::kGeluErf},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
});

/// Epsilon of the latents' norms, which rms_norm_eps does not change. Converters to GGUF do not
/// store it. Source: transformers 5.24, models/deepseek_v2/modeling_deepseek_v2.py.
constexpr double kLatentEpsilon = 1e-6;

void read_counts(const HfKeys& keys, Config& c) {
  c.layers = keys.required_integer("num_hidden_layers", 1, kLayersMax);
  c.hidden = keys.required_integer("hidden_size", 1, kHiddenMax);
  c.heads = keys.required_integer("num_attention_heads", 1, kHeadsMax);
  c.kv_heads = keys.integer("num_key_value_heads", 1, kHeadsMax).value_or(c.heads);
  c.ffn = keys.required_integer("intermediate_size", 1, kFfnMax);
  c.vocab = keys.required_integer("vocab_size", 1, kVocabMax);
  const auto head_dim = keys.integer("head_dim", 1, kHeadDimMax);
  if (!head_dim && c.hidden % c.heads != 0) {
    keys.members().fail(cat("hidden_size ", c.hidden, " does not divide into ", c.heads,
                            " heads, and head_dim is missing"));
  }
  c.head_dim = head_dim.value_or(c.hidden / c.heads);
  c.context = keys.required_integer("max_position_embeddings", 1, kContextMax);
  const auto eps = keys.number("rms_norm_eps");
  if (!eps) keys.members().missing(keys.spelled("rms_norm_eps"));
  c.norm_eps = *eps;
}

void read_activation(const HfKeys& keys, Config& c) {
  const std::string* name = keys.text("hidden_act");
  if (name == nullptr) return;
  for (const auto& [known, activation] : kActivations) {
    if (*name != known) continue;
    const bool is_tanh = keys.family().gelu_is_tanh && activation == Activation::kGeluErf;
    const Activation stated = is_tanh ? Activation::kGeluTanh : activation;
    if (c.activation != Activation::kGptOss) {
      c.activation = stated;
      return;
    }
    if (stated == Activation::kSilu) return;
  }
  keys.refuse("hidden_act", c.activation == Activation::kGptOss
                                ? "supported is silu"
                                : "supported are silu, gelu and gelu_pytorch_tanh");
}

/// Refuses any value except `expected`, which published models have and kernels compute with.
void expect_number(const HfKeys& keys, std::string_view name, double expected) {
  if (keys.states(name) && keys.number(name) != expected) {
    keys.refuse(name, cat("supported is ", expected));
  }
}

/// Returns a positive factor, or `absent` if the family does not read the key.
double factor(const HfKeys& keys, std::string_view name, double absent) {
  const double value = keys.number(name).value_or(absent);
  if (keys.states(name) && !(value > 0 && std::isfinite(value))) {
    keys.refuse(name, "it must be positive");
  }
  return value;
}

void read_factors(const HfKeys& keys, Config& c) {
  if (keys.family().scales_embeddings) c.embed_scale = std::sqrt(static_cast<double>(c.hidden));
  c.embed_scale *= factor(keys, "embedding_multiplier", 1);
  c.residual_scale = factor(keys, "residual_multiplier", 1);
  c.logit_scale = factor(keys, "logit_scale", 1) / factor(keys, "logits_scaling", 1);
  c.score_cap = factor(keys, "attn_logit_softcapping", 0);
  c.logit_cap = factor(keys, "final_logit_softcapping", 0);
  if (keys.reads("query_pre_attn_scalar")) {
    c.attention_scale =
        1 / std::sqrt(factor(keys, "query_pre_attn_scalar", static_cast<double>(c.head_dim)));
  }
  if (keys.reads("attention_multiplier")) {
    c.attention_scale = factor(keys, "attention_multiplier", 1);
  }
}

}  // namespace

void read_hf_sizes(const HfKeys& keys, Config& config) {
  read_counts(keys, config);
  read_activation(keys, config);
  expect_number(keys, "swiglu_limit", 7);
  expect_number(keys, "swiglu_alpha", 1.702);
  config.norm_plus_one = keys.family().norm_plus_one;
  if (keys.reads("use_parallel_residual")) {
    config.parallel_residual = keys.flag("use_parallel_residual");
  }
  config.qk_norm = keys.boolean("qk_norm");
  config.attention_bias = keys.boolean("attention_bias");
  // Most families have one key for both.
  config.attention_out_bias =
      keys.reads("attention_out_bias") ? keys.boolean("attention_out_bias") : config.attention_bias;
  config.mlp_bias = keys.boolean("mlp_bias");
  config.tied = keys.flag("tie_word_embeddings");
  read_factors(keys, config);
}

void read_hf_mla(const HfKeys& keys, Config& config) {
  if (!keys.reads("kv_lora_rank")) return;
  for (const std::string_view key : {"attention_bias", "mlp_bias"}) {
    if (keys.members().boolean(key).value_or(false)) {
      keys.members().refuse(key, "supported is false");
    }
  }
  MlaSizes& mla = config.mla;
  mla.q_rank = keys.integer("q_lora_rank", 0, kHiddenMax).value_or(0);
  mla.kv_rank = keys.required_integer("kv_lora_rank", 1, kHiddenMax);
  mla.nope = keys.required_integer("qk_nope_head_dim", 1, kHeadDimMax);
  mla.rope = keys.required_integer("qk_rope_head_dim", 2, kHeadDimMax);
  mla.value = keys.required_integer("v_head_dim", 1, kHeadDimMax);
  mla.norm_eps = kLatentEpsilon;
  config.head_dim = mla.nope + mla.rope;
  if (keys.reads("rope_interleave") && !keys.flag("rope_interleave")) {
    config.ropes.front().style = RopeStyle::kHalfSplit;
  }
}

}  // namespace ingot
