// Reads hyper-parameters from GGUF keys such as "llama.attention.head_count".
#include "load/gguf/gguf_config.h"

#include "base/index.h"
#include "base/math_double.h"
#include "base/text.h"

namespace ingot {

namespace {

struct Architecture {
  std::string_view name;
  RopeStyle rope_style;
  bool windowed;  ///< whether a stated sliding window applies to every layer
  bool experts;   ///< whether it may be a mixture of experts
};

constexpr Architecture kArchitectures[] = {
    {"llama", RopeStyle::kAdjacent, true, true},
    {"qwen2", RopeStyle::kHalfSplit, false, false},
    {"qwen3", RopeStyle::kHalfSplit, false, false},
    {"qwen3moe", RopeStyle::kHalfSplit, false, true},
};

/// A key that can change the arithmetic, and the values with which it does not.
struct Neutral {
  std::string_view key;
  GgufType type;
  double value;
  double also;
};

constexpr Neutral kNeutral[] = {
    {"attention.causal", GgufType::kBool, 1, 1},
    {"use_parallel_residual", GgufType::kBool, 0, 0},
    {"logit_scale", GgufType::kFloat32, 1, 1},
    {"residual_scale", GgufType::kFloat32, 1, 1},
    {"embedding_scale", GgufType::kFloat32, 1, 1},
    {"attn_logit_softcapping", GgufType::kFloat32, 0, 0},
    {"final_logit_softcapping", GgufType::kFloat32, 0, 0},
    {"attention.clamp_kqv", GgufType::kFloat32, 0, 0},
    {"attention.max_alibi_bias", GgufType::kFloat32, 0, 0},
    {"expert_shared_count", GgufType::kUint32, 0, 0},
    {"expert_shared_feed_forward_length", GgufType::kUint32, 0, 0},
    {"expert_gating_func", GgufType::kUint32, 1, 1},     // 1 is softmax
    {"expert_weights_scale", GgufType::kFloat32, 1, 0},  // 0 stands for none
    {"expert_group_count", GgufType::kUint32, 0, 1},
    {"expert_group_used_count", GgufType::kUint32, 0, 1},
    {"leading_dense_block_count", GgufType::kUint32, 0, 0},
    {"interleave_moe_layer_step", GgufType::kUint32, 1, 1},
    {"nextn_predict_layers", GgufType::kUint32, 0, 0},
};

/// Keys of an architecture that describe the file and do not affect the arithmetic.
constexpr std::string_view kHarmless[] = {
    "rope.scaling.finetuned",
    "tensor_data_layout",
    "pooling_type",
};

class ConfigReader {
 public:
  ConfigReader(GgufKeys& keys, const Architecture& architecture, LoadNotes& notes)
      : keys_(keys), architecture_(architecture), notes_(notes) {}

  Config read(const TokenizerData* tokenizer) {
    config_.naming = Naming::kGguf;
    config_.architecture = architecture_.name;
    config_.model_type = architecture_.name;
    config_.ropes.front().style = architecture_.rope_style;
    read_sizes();
    read_attention();
    read_rope();
    read_scaling();
    read_experts();
    read_vocabulary(tokenizer);
    read_sampling();
    refuse_the_rest();
    return std::move(config_);
  }

 private:
  void read_sizes() {
    config_.layers = required("block_count", 1, kLayersMax);
    config_.hidden = required("embedding_length", 1, kHiddenMax);
    if (config_.hidden % 2 != 0) keys_.refuse(key("embedding_length"), "is odd");
    const auto ffn = per_layer("feed_forward_length", 1, kFfnMax);
    if (!ffn) missing("feed_forward_length");
    config_.ffn = *ffn;
    config_.context = required("context_length", 1, kContextMax);
    const std::string eps = key("attention.layer_norm_rms_epsilon");
    const std::optional<double> norm_eps = keys_.float32(eps);
    if (!norm_eps) keys_.fail(cat(eps, " is missing"));
    if (!(*norm_eps > 0 && *norm_eps < 1))
      keys_.refuse(eps, "must be greater than 0 and less than 1");
    config_.norm_eps = *norm_eps;
  }

  void read_attention() {
    const auto heads = per_layer("attention.head_count", 1, kHeadsMax);
    if (!heads) missing("attention.head_count");
    config_.heads = *heads;
    config_.kv_heads =
        per_layer("attention.head_count_kv", 1, config_.heads).value_or(config_.heads);
    if (config_.heads % config_.kv_heads != 0) {
      keys_.refuse(key("attention.head_count_kv"),
                   cat("does not divide ", config_.heads, " heads"));
    }

    const auto key_length = integer("attention.key_length", 1, kHeadDimMax);
    const auto value_length = integer("attention.value_length", 1, kHeadDimMax);
    if (!key_length || !value_length) {
      if (config_.hidden % config_.heads != 0) {
        keys_.refuse(key("embedding_length"),
                     cat("is not a multiple of ", config_.heads, " heads"));
      }
      if (config_.hidden / config_.heads > kHeadDimMax) {
        keys_.refuse(key("embedding_length"), cat("gives ", config_.heads, " heads of more than ",
                                                  kHeadDimMax, " elements"));
      }
    }
    config_.head_dim = key_length.value_or(config_.hidden / config_.heads);
    const std::int64_t value_dim = value_length.value_or(config_.hidden / config_.heads);
    if (config_.head_dim != value_dim) {
      keys_.fail(cat("heads have keys of ", config_.head_dim, " and values of ", value_dim,
                     " elements: not supported"));
    }

    const std::int64_t window = integer("attention.sliding_window", 0, kContextMax).value_or(0);
    if (window > 0) {
      // For a Qwen model, the file does not say which layers have a window.
      if (!architecture_.windowed)
        keys_.refuse(key("attention.sliding_window"), "is not supported");
      config_.window.assign(to_size(config_.layers), window);
    }
  }

  void read_rope() {
    config_.ropes.front().dims =
        integer("rope.dimension_count", 2, config_.head_dim).value_or(config_.head_dim);
    if (config_.ropes.front().dims % 2 != 0) {
      keys_.fail(
          cat("rotary embedding of ", config_.ropes.front().dims, " elements: must be even"));
    }
    const std::optional<double> base = keys_.float32(key("rope.freq_base"));
    if (base && !(*base >= 1 && *base <= 1e12)) {
      keys_.refuse(key("rope.freq_base"), "must be from 1 to 1e12");
    }
    config_.ropes.front().theta = base.value_or(10000);
  }

  /// Without a type, a factor means linear scaling. Older files name the factor rope.scale_linear.
  void read_scaling() {
    RopeScaling& scaling = config_.ropes.front().scaling;
    const std::string type_key = key("rope.scaling.type");
    const std::optional<std::string_view> type = keys_.text(type_key);
    const double old_factor = positive("rope.scale_linear", 1);
    scaling.factor = positive("rope.scaling.factor", old_factor);
    const auto original = integer("rope.scaling.original_context_length", 1, kContextMax);
    const double attention =
        positive("rope.scaling.attn_factor", 1) * positive("rope.scaling.yarn_attn_factor", 1);
    scaling.beta_fast = positive("rope.scaling.yarn_beta_fast", scaling.beta_fast);
    scaling.beta_slow = positive("rope.scaling.yarn_beta_slow", scaling.beta_slow);
    const std::string extrapolation = key("rope.scaling.yarn_ext_factor");
    const double mix = keys_.float32(extrapolation).value_or(1);
    const std::string multiplier = key("rope.scaling.yarn_log_multiplier");
    if (keys_.float32(multiplier).value_or(0) != 0) keys_.refuse(multiplier, "is not supported");

    if (type.value_or("linear") == "linear") {
      scaling.kind = scaling.factor == 1 ? RopeScaling::Kind::kNone : RopeScaling::Kind::kLinear;
    } else if (*type == "yarn") {
      scaling.kind = RopeScaling::Kind::kYarn;
      scaling.original_context = static_cast<double>(original.value_or(config_.context));
      // A negative value means the type's default, which is 1 for yarn.
      if (mix != 1 && !(mix < 0)) keys_.refuse(extrapolation, "is not supported");
      if (attention != 1) {
        scaling.attention_factor = attention * (0.1 * math::log(scaling.factor) + 1);
      }
      return;
    } else if (*type == "none") {
      scaling = RopeScaling{};
    } else {
      keys_.refuse(type_key, "is not supported (none, linear and yarn are)");
    }
    if (attention != 1) {
      keys_.fail(cat(key("rope.scaling.attn_factor"), " is supported for yarn scaling only"));
    }
  }

  void read_experts() {
    config_.experts = integer("expert_count", 0, kExpertsMax).value_or(0);
    if (config_.experts > 0 && !architecture_.experts) {
      keys_.refuse(key("expert_count"), "is not supported for this architecture");
    }
    if (config_.experts == 0 && architecture_.name == "qwen3moe") missing("expert_count");
    const auto used = integer("expert_used_count", 0, config_.experts);
    const auto ffn = integer("expert_feed_forward_length", 1, kFfnMax);
    const auto normalised = keys_.boolean(key("expert_weights_norm"));
    if (config_.experts == 0) return;
    if (used.value_or(0) == 0) keys_.fail(cat(key("expert_used_count"), " is missing or 0"));
    config_.experts_used = *used;
    // Mixtral (architecture llama) states one width, which is that of its experts.
    if (!ffn && architecture_.name != "llama") missing("expert_feed_forward_length");
    config_.expert_ffn = ffn.value_or(config_.ffn);
    config_.router.renormalise = normalised.value_or(true);
  }

  void read_vocabulary(const TokenizerData* tokenizer) {
    config_.vocab = integer("vocab_size", 1, kVocabMax).value_or(0);
    if (tokenizer == nullptr) return;
    const auto tokens = static_cast<std::int64_t>(tokenizer->tokens.size());
    if (config_.vocab > 0 && config_.vocab < tokens) {
      keys_.refuse(key("vocab_size"), cat("is less than the tokenizer's ", tokens, " tokens"));
    }
    config_.bos_id = tokenizer->bos;
    const auto end = [&](std::optional<std::int32_t> id, std::string_view key) {
      if (id) add_end(config_.ends, *id, key);
    };
    end(tokenizer->eos, "tokenizer.ggml.eos_token_id");
    end(tokenizer->eot, "tokenizer.ggml.eot_token_id");
    end(tokenizer->eom, "tokenizer.ggml.eom_token_id");
    end(tokenizer->fim.padding, "tokenizer.ggml.fim_pad_token_id");
    end(tokenizer->fim.repository, "tokenizer.ggml.fim_rep_token_id");
    end(tokenizer->fim.file, "tokenizer.ggml.fim_sep_token_id");
  }

  void read_sampling() {
    constexpr std::string_view kPrefix = "general.sampling.";
    for (const GgufEntry* entry : keys_.unread(kPrefix)) {
      config_.sampling.set(std::string(entry->key.substr(kPrefix.size())), gguf_json(*entry));
    }
  }

  void refuse_the_rest() {
    for (const Neutral& neutral : kNeutral) {
      const std::string k = key(neutral.key);
      std::optional<double> value;
      if (neutral.type == GgufType::kFloat32) {
        value = keys_.float32(k);
      } else if (neutral.type == GgufType::kBool) {
        if (const auto flag = keys_.boolean(k)) value = *flag ? 1 : 0;
      } else if (const auto number = keys_.uint32(k)) {
        value = static_cast<double>(*number);
      }
      if (value && *value != neutral.value && *value != neutral.also) {
        refuse_unless_accepted(k, "is not supported");
      }
    }
    for (const std::string_view rest : kHarmless) keys_.any(key(rest));
    for (const GgufEntry* entry : keys_.unread(key(""))) {
      refuse_unless_accepted(entry->key, "is not supported: this key is not known");
    }
  }

  void refuse_unless_accepted(std::string_view key, std::string_view reason) {
    if (notes_.accepts(keys_.file().name, key, keys_.shown(key))) return;
    keys_.refuse(key, cat(reason, LoadNotes::advice(key)));
  }

  std::string key(std::string_view rest) const { return cat(architecture_.name, ".", rest); }

  std::optional<std::int64_t> integer(std::string_view rest, std::int64_t min, std::int64_t max) {
    const std::optional<std::int64_t> value = keys_.uint32(key(rest));
    if (value && (*value < min || *value > max)) {
      keys_.refuse(key(rest), cat("must be from ", min, " to ", max));
    }
    return value;
  }
  std::int64_t required(std::string_view rest, std::int64_t min, std::int64_t max) {
    const std::optional<std::int64_t> value = integer(rest, min, max);
    if (!value) missing(rest);
    return *value;
  }
  [[noreturn]] void missing(std::string_view rest) const {
    keys_.fail(cat(key(rest), " is missing"));
  }

  /// A number for the whole model, or an array with equal numbers for all layers.
  std::optional<std::int64_t> per_layer(std::string_view rest, std::int64_t min, std::int64_t max) {
    const std::string k = key(rest);
    const GgufEntry* entry = keys_.any(k);
    if (entry == nullptr || !entry->is_array()) return integer(rest, min, max);
    const bool is_signed = entry->element == GgufType::kInt32;
    const GgufEntry& list = *keys_.array(
        k, is_signed ? GgufType::kInt32 : GgufType::kUint32);  // others are refused here
    if (list.count != static_cast<std::uint64_t>(config_.layers)) {
      keys_.refuse(k, cat("must have an element for each of the ", config_.layers, " layers"));
    }
    const auto at = [&](std::uint64_t i) {
      return is_signed ? std::int64_t{list.number<std::int32_t>(i)}
                       : std::int64_t{list.number<std::uint32_t>(i)};
    };
    for (std::uint64_t i = 0; i < list.count; ++i) {
      if (at(i) < min || at(i) > max) {
        keys_.refuse(k, cat("has the element ", at(i), ", must be from ", min, " to ", max));
      }
      if (at(i) != at(0)) keys_.refuse(k, "varies by layer: not supported");
    }
    return at(0);
  }

  double positive(std::string_view rest, double fallback) {
    const std::optional<double> value = keys_.float32(key(rest));
    if (value && !(*value > 0)) keys_.refuse(key(rest), "must be greater than 0");
    return value.value_or(fallback);
  }

  GgufKeys& keys_;
  const Architecture& architecture_;
  LoadNotes& notes_;
  Config config_;
};

const Architecture& find_architecture(GgufKeys& keys) {
  constexpr std::string_view kKey = "general.architecture";
  const std::optional<std::string_view> name = keys.text(kKey);
  if (!name) keys.fail("general.architecture is missing");
  std::string supported;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == *name) return architecture;
    supported += cat(supported.empty() ? "" : ", ", architecture.name);
  }
  keys.fail(cat("unknown or unsupported architecture '", printable(*name, 64),
                "'; supported: ", supported));
}

/// Refuses adapters and image encoders, which may have a model's architecture name.
void check_kind_of_file(GgufKeys& keys) {
  const std::optional<std::string_view> type = keys.text("general.type");
  if (type && (*type == "adapter" || *type == "mmproj" || *type == "imatrix")) {
    keys.refuse("general.type", "is not a model");
  }
}

}  // namespace

Config gguf_config(GgufKeys& keys, const TokenizerData* tokenizer, LoadNotes& notes) {
  check_kind_of_file(keys);
  Config config = ConfigReader(keys, find_architecture(keys), notes).read(tokenizer);
  validate_config(config, keys.file().name);
  return config;
}

}  // namespace ingot
