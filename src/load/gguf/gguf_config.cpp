// Reads hyper-parameters from GGUF keys such as "llama.attention.head_count".
#include "load/gguf/gguf_config.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "load/gguf/gguf_config_parts.h"

namespace ingot {

namespace {

/// A key that can change the arithmetic, and the values with which it does not. It is for
/// architectures that do not read the key.
struct Neutral {
  std::string_view key;
  GgufType type;
  double value;
  double also;
};

constexpr Neutral kNeutral[] = {
    {"use_parallel_residual", GgufType::kBool, 0, 0},
    {"logit_scale", GgufType::kFloat32, 1, 1},
    {"residual_scale", GgufType::kFloat32, 1, 1},
    {"embedding_scale", GgufType::kFloat32, 1, 1},
    {"attn_logit_softcapping", GgufType::kFloat32, 0, 0},
    {"final_logit_softcapping", GgufType::kFloat32, 0, 0},
    {"attention.clamp_kqv", GgufType::kFloat32, 0, 0},
    {"attention.max_alibi_bias", GgufType::kFloat32, 0, 0},
    {"attention.shared_kv_layers", GgufType::kUint32, 0, 0},
    {"expert_shared_count", GgufType::kUint32, 0, 0},
    {"expert_shared_feed_forward_length", GgufType::kUint32, 0, 0},
    {"expert_gating_func", GgufType::kUint32, 1, 1},     // 1 is softmax
    {"expert_weights_scale", GgufType::kFloat32, 1, 0},  // 0 stands for none
    {"expert_group_count", GgufType::kUint32, 0, 1},
    {"expert_group_used_count", GgufType::kUint32, 0, 1},
    {"leading_dense_block_count", GgufType::kUint32, 0, 0},
    {"interleave_moe_layer_step", GgufType::kUint32, 1, 1},
};

/// Keys of an architecture that describe the file and do not affect the arithmetic.
constexpr std::string_view kHarmless[] = {
    "rope.scaling.finetuned",
    "tensor_data_layout",
    "mm.tokens_per_image",
};

/// Architectures whose layers keep a state instead of keys and values.
constexpr std::string_view kRecurrent[] = {
    "mamba",      "mamba2",         "jamba",         "rwkv6",     "rwkv6qwen2", "rwkv7",
    "arwkv7",     "qwen3next",      "qwen35",        "qwen35moe", "lfm2",       "plamo2",
    "nemotron_h", "nemotron_h_moe", "granitehybrid", "lfm2moe",   "falcon-h1",  "kimi-linear",
};

void read_vocabulary(const ArchitectureKeys& keys, const TokenizerData* tokenizer, Config& config) {
  config.vocab = keys.integer("vocab_size", 1, kVocabMax).value_or(0);
  if (tokenizer == nullptr) return;
  const auto tokens = static_cast<std::int64_t>(tokenizer->tokens.size());
  if (config.vocab > 0 && config.vocab < tokens) {
    keys.refuse("vocab_size", cat("is less than the tokenizer's ", tokens, " tokens"));
  }
  config.bos_id = tokenizer->bos;
  const auto end = [&](std::optional<std::int32_t> id, std::string_view key) {
    if (id) add_end(config.ends, *id, key);
  };
  end(tokenizer->eos, "tokenizer.ggml.eos_token_id");
  end(tokenizer->eot, "tokenizer.ggml.eot_token_id");
  end(tokenizer->eom, "tokenizer.ggml.eom_token_id");
  end(tokenizer->fim.padding, "tokenizer.ggml.fim_pad_token_id");
  end(tokenizer->fim.repository, "tokenizer.ggml.fim_rep_token_id");
  end(tokenizer->fim.file, "tokenizer.ggml.fim_sep_token_id");
}

/// Encoders state the number of token types beside the tokenizer's keys.
void read_token_types(GgufKeys& keys, const ArchitectureTraits& traits, Config& config) {
  constexpr std::string_view kTypes = "tokenizer.ggml.token_type_count";
  if (traits.causal) return;
  const std::optional<std::int64_t> types = keys.uint32(kTypes);
  if (types && (*types < 1 || *types > kVocabMax)) {
    keys.refuse(kTypes, cat("must be from 1 to ", kVocabMax));
  }
  config.token_types = types.value_or(0);
}

void read_sampling(GgufKeys& keys, Config& config) {
  constexpr std::string_view kPrefix = "general.sampling.";
  for (const GgufEntry* entry : keys.unread(kPrefix)) {
    config.sampling.set(std::string(entry->key.substr(kPrefix.size())), gguf_json(*entry));
  }
}

/// Refuses what is stated, but was not read, unless it changes nothing or the user accepts it.
class Rest {
 public:
  Rest(GgufKeys& keys, const ArchitectureKeys& own, LoadNotes& notes)
      : keys_(keys), own_(own), notes_(notes) {}

  void refuse(const ArchitectureTraits& traits) {
    const std::optional<bool> causal = own_.flag("attention.causal");
    if (causal && *causal != traits.causal) {
      refuse_unless_accepted(own_.key("attention.causal"), "is not supported");
    }
    for (const Neutral& neutral : kNeutral) {
      const std::string key = own_.key(neutral.key);
      if (!keys_.is_unread(key)) continue;
      const double value = number(key, neutral.type);
      if (value != neutral.value && value != neutral.also) {
        refuse_unless_accepted(key, "is not supported");
      }
    }
    for (const std::string_view harmless : kHarmless) keys_.any(own_.key(harmless));
    for (const GgufEntry* entry : keys_.unread(own_.key(""))) {
      refuse_unless_accepted(entry->key, "is not supported: this key is not known");
    }
  }

 private:
  double number(const std::string& key, GgufType type) {
    if (type == GgufType::kFloat32) return *keys_.float32(key);
    if (type == GgufType::kBool) return *keys_.boolean(key) ? 1 : 0;
    return static_cast<double>(*keys_.uint32(key));
  }

  void refuse_unless_accepted(std::string_view key, std::string_view reason) {
    if (notes_.accepts(keys_.file().name, key, keys_.shown(key))) return;
    keys_.refuse(key, cat(reason, LoadNotes::advice(key)));
  }

  GgufKeys& keys_;
  const ArchitectureKeys& own_;
  LoadNotes& notes_;
};

const ArchitectureTraits& architecture_of(GgufKeys& keys) {
  const std::optional<std::string_view> name = keys.text("general.architecture");
  if (!name) keys.fail("general.architecture is missing");
  if (const ArchitectureTraits* traits = find_architecture(*name)) return *traits;
  if (std::find(std::begin(kRecurrent), std::end(kRecurrent), *name) != std::end(kRecurrent)) {
    keys.fail(cat("architecture '", *name, "' has recurrent state: not supported yet"));
  }
  keys.fail(cat("unknown or unsupported architecture '", printable(*name, 64),
                "'; supported: ", architecture_names()));
}

/// Refuses adapters and image encoders, which may have a model's architecture name.
void check_kind_of_file(GgufKeys& keys) {
  const std::optional<std::string_view> type = keys.text("general.type");
  if (type && (*type == "adapter" || *type == "mmproj" || *type == "imatrix")) {
    keys.refuse("general.type", "is not a model");
  }
}

}  // namespace

Config gguf_config(GgufKeys& keys, const TokenizerData* tokenizer, const HasTensor& has_tensor,
                   LoadNotes& notes) {
  check_kind_of_file(keys);
  const ArchitectureTraits& traits = architecture_of(keys);
  const ArchitectureKeys own(keys, traits.name);
  Config config;
  config.naming = Naming::kGguf;
  config.model_type = traits.name;
  apply_traits(traits, config);
  GgufConfigParts parts{.keys = own,
                        .traits = traits,
                        .family = gguf_family(traits.name),
                        .has_tensor = has_tensor,
                        .config = config};
  read_model_sizes(parts);
  read_windows(parts);
  read_layer_sizes(parts);
  read_ropes(parts);
  read_factors(parts);
  read_experts(parts);
  read_layer_inputs(parts);
  read_pooling(parts);
  read_vocabulary(own, tokenizer, config);
  read_token_types(keys, traits, config);
  read_sampling(keys, config);
  Rest(keys, own, notes).refuse(traits);
  validate_config(config, keys.file().name);
  return config;
}

}  // namespace ingot
