// Reads config.json: defaults of each model family, and keys that are refused because they would
// change the arithmetic.
#include "load/hf/hf_config.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"

namespace ingot {

namespace {

/// Which layers have a sliding window, if the file does not list them.
enum class WindowRule { kNowhere, kEverywhere, kFromMaxWindowLayers };

/// How a model_type of config.json is read. Defaults are those of transformers' configuration
/// classes.
struct Family {
  std::string_view model_type;
  std::string_view architecture;
  std::int64_t context;  ///< default of max_position_embeddings
  WindowRule window;
  bool reads_attention_bias;  ///< false: transformers ignores the key for this model
  bool reads_mlp_bias;
  bool experts;
};

constexpr std::array kFamilies = std::to_array<Family>({
    {"llama", "llama", 2048, WindowRule::kNowhere, true, true, false},
    {"mistral", "llama", 131072, WindowRule::kEverywhere, false, false, false},
    {"qwen2", "qwen2", 32768, WindowRule::kFromMaxWindowLayers, false, false, false},
    {"qwen3", "qwen3", 32768, WindowRule::kFromMaxWindowLayers, true, false, false},
    {"qwen3_moe", "qwen3moe", 32768, WindowRule::kFromMaxWindowLayers, true, false, true},
});

constexpr double kDefaultEps = 1e-6;
constexpr std::int64_t kMistralWindow = 4096;
constexpr std::int64_t kDefaultMaxWindowLayers = 28;
constexpr std::size_t kEosIdsMax = 1024;

const Family& find_family(const JsonKeys& keys) {
  const std::string& type = keys.required_text("model_type");
  std::string names;
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return family;
    names += cat(names.empty() ? "" : ", ", family.model_type);
  }
  keys.fail(
      cat("unknown or unsupported model_type '", printable(type, 64), "'; supported: ", names));
}

void refuse_quantisation(const JsonKeys& keys) {
  for (const std::string_view key : {"quantization_config", "compression_config", "quantization"}) {
    const Json* value = keys.get(key);
    if (value == nullptr) continue;
    const Json* method = value->find("quant_method");
    if (method == nullptr) method = value->find("mode");
    keys.fail(cat(key, " method ", method == nullptr ? "(not named)" : shown(*method),
                  " is not supported"));
  }
}

/// Keys of related families that change the arithmetic, but not names or shapes of tensors, are
/// refused unless they have the value without an effect; null stands for no such value. (Changes of
/// tensors are detected later, when the tensors are compared with the architecture's.)
void refuse_unapplied(const JsonKeys& keys, const Family& family, LoadNotes& notes) {
  refuse_quantisation(keys);
  const auto accept_only = [&](const Json& neutral, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      const Json* value = keys.get(name);
      if (value == nullptr) continue;
      const bool same =
          value->number() ? value->number() == neutral.number() : value->dump() == neutral.dump();
      if (same || notes.accepts(keys.file(), name, shown(*value))) continue;
      keys.refuse(name,
                  cat("it is not supported for ", family.model_type, LoadNotes::advice(name)));
    }
  };
  accept_only(Json(), {"attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar",
                       "attention_multiplier", "scale_depth", "dim_model_base", "clip_qkv",
                       "no_rope_layers", "no_rope_layer_interval", "nope_layer_interval",
                       "attention_chunk_size", "sliding_window_pattern", "rope_local_base_freq",
                       "rotary_dim"});
  accept_only(0, {"shared_expert_intermediate_size", "n_shared_experts", "num_shared_experts",
                  "n_routed_experts"});
  accept_only(
      1, {"residual_multiplier", "embedding_multiplier", "logits_scaling", "logit_scale",
          "lm_head_multiplier", "scale_emb", "rotary_pct", "rope_ratio", "routed_scaling_factor"});
  accept_only(false, {"attn_temperature_tuning", "rope_interleave", "rope_interleaved", "use_mrope",
                      "use_dynamic_ntk", "use_logn_attn", "alibi", "use_alibi", "parallel_attn",
                      "use_parallel_residual", "parallel_residual", "use_bidirectional_attention",
                      "is_encoder_decoder", "add_cross_attention"});
  accept_only(true, {"is_causal"});
  accept_only("softmax", {"scoring_func"});
  if (!family.experts) accept_only(0, {"num_experts", "num_local_experts"});
}

void read_sizes(const JsonKeys& keys, const Family& family, Config& c, LoadNotes& notes) {
  c.layers = keys.required_integer("num_hidden_layers", 1, kLayersMax);
  c.hidden = keys.required_integer("hidden_size", 1, kHiddenMax);
  c.heads = keys.required_integer("num_attention_heads", 1, kHeadsMax);
  c.kv_heads = keys.integer("num_key_value_heads", 1, kHeadsMax).value_or(c.heads);
  c.ffn = keys.required_integer("intermediate_size", 1, kFfnMax);
  c.vocab = keys.required_integer("vocab_size", 1, kVocabMax);
  const auto head_dim = keys.integer("head_dim", 1, kHeadDimMax);
  if (!head_dim && c.hidden % c.heads != 0) {
    keys.fail(cat("hidden_size ", c.hidden, " does not divide into ", c.heads,
                  " heads, and head_dim is missing"));
  }
  c.head_dim = head_dim.value_or(c.hidden / c.heads);
  const auto context = keys.integer("max_position_embeddings", 1, kContextMax);
  if (!context) {
    notes.detail(cat("max_position_embeddings is missing: taken as ", family.context));
  }
  c.context = context.value_or(family.context);
  const auto eps = keys.number("rms_norm_eps");
  if (!eps) notes.detail("rms_norm_eps is missing: taken as 1e-6");
  c.norm_eps = eps.value_or(kDefaultEps);
}

void read_activation(const JsonKeys& keys, Config& c) {
  const std::string* name = keys.text("hidden_act");
  if (name != nullptr && *name != "silu") keys.refuse("hidden_act", "supported is silu");
  c.activation = Activation::kSilu;
}

void read_biases(const JsonKeys& keys, const Family& family, Config& c) {
  if (family.reads_attention_bias) c.attention_bias = keys.boolean("attention_bias");
  if (family.reads_mlp_bias) c.mlp_bias = keys.boolean("mlp_bias");
  // The default of transformers' classes for these families.
  c.tied = keys.boolean("tie_word_embeddings").value_or(false);
}

/// Whether each layer has a sliding window, if the file lists the layers.
std::optional<std::vector<bool>> read_layer_types(const JsonKeys& keys, const Config& c) {
  const Json::Array* list = keys.array("layer_types");
  if (list == nullptr) return std::nullopt;
  if (std::ssize(*list) != c.layers) {
    keys.fail(cat("layer_types has ", list->size(), " entries for ", c.layers, " layers"));
  }
  std::vector<bool> slides;
  for (const Json& entry : *list) {
    const std::string* type = entry.as_string();
    if (type == nullptr || (*type != "full_attention" && *type != "sliding_attention")) {
      keys.refuse("an entry of layer_types", entry,
                  "supported are full_attention and sliding_attention");
    }
    slides.push_back(*type == "sliding_attention");
  }
  return slides;
}

/// The sliding window, and which layers have it if the file does not list them.
struct Window {
  std::int64_t tokens = 0;  ///< 0: no window
  std::int64_t first_layer = 0;
};

Window read_window_rule(const JsonKeys& keys, const Family& family, LoadNotes& notes) {
  Window window;
  window.tokens = keys.integer("sliding_window", 1, kContextMax).value_or(0);
  const bool in_use = keys.boolean("use_sliding_window").value_or(false);
  switch (family.window) {
    case WindowRule::kNowhere:
      if (window.tokens != 0 || in_use) {
        keys.fail(cat("a sliding_window is not supported for ", family.model_type));
      }
      break;
    case WindowRule::kEverywhere:
      if (!keys.mentions("sliding_window")) {
        window.tokens = kMistralWindow;
        notes.warn(cat("sliding_window is missing: taken as ", kMistralWindow));
      }
      break;
    case WindowRule::kFromMaxWindowLayers:
      if (in_use && !keys.mentions("sliding_window")) keys.missing("sliding_window");
      if (!in_use) window.tokens = 0;
      window.first_layer =
          keys.integer("max_window_layers", 0, kContextMax).value_or(kDefaultMaxWindowLayers);
      break;
  }
  return window;
}

/// Sets the window of each layer: by the file's list of layers, or else by the family's rule.
void read_windows(const JsonKeys& keys, const Family& family, Config& c, LoadNotes& notes) {
  const Window window = read_window_rule(keys, family, notes);
  const auto listed = read_layer_types(keys, c);
  if (listed) {
    const auto sliding = std::count(listed->begin(), listed->end(), true);
    if (sliding > 0 && window.tokens == 0) {
      keys.fail(cat("layer_types has ", sliding, " sliding layers, but no window is in use"));
    }
    if (family.window == WindowRule::kEverywhere && window.tokens != 0 && sliding != c.layers) {
      keys.fail(cat("sliding_window is on all layers of ", family.model_type,
                    ", but layer_types has ", c.layers - sliding, " full ones"));
    }
  }
  if (window.tokens == 0 || (!listed && window.first_layer >= c.layers)) return;
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const bool slides = listed ? at(*listed, layer) : layer >= window.first_layer;
    c.window.push_back(slides ? window.tokens : 0);
  }
}

/// Sets which layers are dense: listed layers, and layers that decoder_sparse_step skips.
void read_dense_layers(const JsonKeys& keys, Config& c) {
  const std::int64_t step = keys.integer("decoder_sparse_step", 1, kLayersMax).value_or(1);
  std::vector<bool> dense(to_size(c.layers));
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    at(dense, layer) = (layer + 1) % step != 0;
  }
  if (const Json::Array* list = keys.array("mlp_only_layers")) {
    for (const Json& entry : *list) {
      const std::int64_t* layer = entry.as_int();
      if (layer == nullptr || *layer < 0 || *layer >= c.layers) {
        keys.refuse("an entry of mlp_only_layers", entry, cat("expected a layer below ", c.layers));
      }
      at(dense, *layer) = true;
    }
  }
  if (std::find(dense.begin(), dense.end(), true) != dense.end()) c.dense_layer = std::move(dense);
}

void read_experts(const JsonKeys& keys, const Family& family, Config& c) {
  if (!family.experts) return;
  const auto experts = keys.integer("num_experts", 1, kExpertsMax);
  const auto local = keys.integer("num_local_experts", 1, kExpertsMax);
  if (!experts && !local) keys.missing("num_experts");
  if (experts && local && *experts != *local) {
    keys.fail(cat("num_experts is ", *experts, ", but num_local_experts is ", *local));
  }
  c.experts = experts ? *experts : *local;
  c.experts_used = keys.required_integer("num_experts_per_tok", 1, c.experts);
  c.expert_ffn = keys.required_integer("moe_intermediate_size", 1, kFfnMax);
  c.router.renormalise = keys.boolean("norm_topk_prob").value_or(false);
  read_dense_layers(keys, c);
}

void add_eos(const JsonKeys& keys, const Json& value, std::string_view source, Config& c) {
  const std::int64_t* id = value.as_int();
  if (id == nullptr || *id < 0 || *id >= c.vocab) {
    keys.refuse("eos_token_id", value, cat("expected an id below ", c.vocab));
  }
  add_end(c.ends, static_cast<std::int32_t>(*id), source);
}

/// A BOS id outside the vocabulary is ignored: no text can begin with it.
void read_bos(const JsonKeys& keys, Config& c, LoadNotes& notes) {
  const Json* value = keys.get("bos_token_id");
  if (value == nullptr) return;
  const std::int64_t* id = value->as_int();
  if (id == nullptr || *id < 0 || *id >= c.vocab) {
    notes.warn(cat(printable(keys.file(), 4096), ": bos_token_id is ", shown(*value),
                   ", expected an id below ", c.vocab, ": it is ignored"));
  } else if (!c.bos_id) {
    c.bos_id = static_cast<std::int32_t>(*id);
  }
}

void read_ends(const JsonKeys& keys, std::string_view source, Config& c) {
  const Json* eos = keys.get("eos_token_id");
  if (eos == nullptr) return;
  const Json::Array* list = eos->as_array();
  if (list == nullptr) {
    add_eos(keys, *eos, source, c);
    return;
  }
  if (list->size() > kEosIdsMax) {
    keys.fail(
        cat("eos_token_id has ", list->size(), " entries, at most ", kEosIdsMax, " are accepted"));
  }
  for (const Json& entry : *list) add_eos(keys, entry, source, c);
}

void expect_object(const Json& root, const std::string& file) {
  if (root.as_object() != nullptr) return;
  throw model_error(file, "config", cat("it holds ", root.kind(), ", expected an object"));
}

}  // namespace

Config read_hf_config(const Json& root, const std::string& file, LoadNotes& notes) {
  expect_object(root, file);
  const JsonKeys keys(root, file);
  const Family& family = find_family(keys);
  refuse_unapplied(keys, family, notes);
  Config config;
  config.naming = Naming::kHuggingFace;
  config.architecture = family.architecture;
  config.model_type = family.model_type;
  read_sizes(keys, family, config, notes);
  read_activation(keys, config);
  read_biases(keys, family, config);
  read_hf_rope(keys, file, config, notes);
  read_windows(keys, family, config, notes);
  read_experts(keys, family, config);
  read_bos(keys, config, notes);
  read_ends(keys, "config.json", config);
  return config;
}

void read_generation_config(const Json& root, const std::string& file, Config& config,
                            LoadNotes& notes) {
  expect_object(root, file);
  const JsonKeys keys(root, file);
  read_bos(keys, config, notes);
  read_ends(keys, "generation_config.json", config);
  config.sampling = root;
}

}  // namespace ingot
