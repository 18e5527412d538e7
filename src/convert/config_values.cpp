// Writes a configuration as GGUF keys: the reverse of gguf_config.
#include "convert/config_values.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/index.h"
#include "base/math_double.h"
#include "base/text.h"
#include "convert/tensor_list.h"
#include "load/architectures.h"
#include "load/gguf/gguf_families.h"

namespace ingot {

namespace {

/// Values of expert_gating_func.
constexpr std::int64_t kSoftmax = 1;
constexpr std::int64_t kSigmoid = 2;

/// The value of pooling_type that stands for a cross-encoder.
constexpr std::int64_t kRank = 4;

bool all_equal(const std::vector<std::int64_t>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](std::int64_t value) { return value == values.front(); });
}

class ConfigWriter {
 public:
  ConfigWriter(const Checkpoint& checkpoint, const BoundModel& model, GgufValues& out,
               std::vector<std::string>& warnings)
      : checkpoint_(checkpoint),
        config_(checkpoint.config()),
        traits_(*find_architecture(config_.architecture)),
        family_(gguf_family(config_.architecture)),
        model_(model),
        out_(out),
        warnings_(warnings) {}

  void write() {
    out_.set_text("general.architecture", config_.architecture);
    out_.set_text("general.name", checkpoint_.name());
    write_sizes();
    write_heads();
    write_windows();
    write_rope();
    write_factors();
    write_experts();
    write_layer_inputs();
    write_pooling();
  }

 private:
  void write_sizes();
  void write_heads();
  void write_latents();
  void write_head_dim(std::string_view suffix, std::int64_t head_dim);
  void write_windows();
  void write_pattern();
  void write_rope();
  void write_window_rope();
  void write_yarn(const RopeScaling& s);
  void write_longrope();
  void write_factors();
  void write_experts();
  void write_router();
  void write_groups();
  void write_dense_layers();
  void write_layer_inputs();
  void warn_of_texts();
  void write_pooling();
  void write_labels();
  void write_dense();

  [[noreturn]] void fail(std::string_view reason) const {
    throw model_error(checkpoint_.name(), "config", cat("GGUF cannot express that ", reason));
  }
  std::string key(std::string_view rest) const { return cat(config_.architecture, ".", rest); }
  void set_count(std::string_view rest, std::int64_t count) {
    out_.set_uint32(key(rest), static_cast<std::uint32_t>(count));  // validate_config bounds it
  }
  /// Writes a 32-bit float, GGUF's type for reals. Warns if this rounds an `exact` value.
  void set_number(std::string_view rest, double number, bool exact = true) {
    const auto rounded = static_cast<float>(number);
    if (exact && static_cast<double>(rounded) != number) {
      warnings_.push_back(cat(key(rest), " is stored as ", rounded, ", the source says ", number));
    }
    out_.set_float32(key(rest), rounded);
  }
  /// Writes one number if all layers have it, or else the list.
  void set_per_layer(std::string_view rest, const auto& value_of) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < config_.layers; ++i) values.push_back(value_of(i));
    if (all_equal(values)) return set_count(rest, values.front());
    const std::vector<std::int32_t> list(values.begin(), values.end());
    out_.set_ints(key(rest), list);
  }
  LayerSizes sizes(std::int64_t layer) const {
    if (config_.sizes.empty()) {
      return {config_.heads, config_.kv_heads, config_.head_dim, config_.ffn};
    }
    return at(config_.sizes, layer);
  }
  bool windowed(std::int64_t layer) const {
    return !config_.window.empty() && at(config_.window, layer) > 0;
  }

  const Checkpoint& checkpoint_;
  const Config& config_;
  const ArchitectureTraits& traits_;
  const GgufFamily& family_;
  const BoundModel& model_;
  GgufValues& out_;
  std::vector<std::string>& warnings_;
};

void ConfigWriter::write_sizes() {
  if (config_.activation != traits_.activation) {
    fail(cat("hidden_act is another one than architecture ", config_.architecture, " has"));
  }
  set_count("context_length", config_.context);
  set_count("embedding_length", config_.hidden);
  set_count("block_count", config_.layers);
  set_per_layer("feed_forward_length", [&](std::int64_t i) {
    const std::int64_t ffn = sizes(i).ffn;
    return ffn > 0 ? ffn : config_.expert_ffn;
  });
  if (model_.spec.vocab > 0) set_count("vocab_size", model_.spec.vocab);
  if (model_.types != nullptr) {
    // The key is about the model: readers take the rows of the table from it.
    out_.set_uint32("tokenizer.ggml.token_type_count",
                    static_cast<std::uint32_t>(model_.types->shape.front()));
  }
}

void ConfigWriter::write_heads() {
  // The forward pass computes with a 32-bit float too, so rounding changes nothing.
  set_number(config_.norm == Normalisation::kRms ? "attention.layer_norm_rms_epsilon"
                                                 : "attention.layer_norm_epsilon",
             config_.norm_eps, false);
  if (!config_.causal) out_.set_boolean(key("attention.causal"), false);
  set_per_layer("attention.head_count", [&](std::int64_t i) { return sizes(i).heads; });
  if (config_.mla.kv_rank > 0) return write_latents();
  set_per_layer("attention.head_count_kv", [&](std::int64_t i) { return sizes(i).kv_heads; });
  std::int64_t full = config_.head_dim;
  std::int64_t window = 0;
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    (windowed(i) ? window : full) = sizes(i).head_dim;
  }
  write_head_dim("", full);
  if (window != 0 && window != full) write_head_dim("_swa", window);
}

void ConfigWriter::write_head_dim(std::string_view suffix, std::int64_t head_dim) {
  set_count(cat("attention.key_length", suffix), head_dim);
  set_count(cat("attention.value_length", suffix), head_dim);
}

/// MLA is written as attention with one key head, which is the latent.
void ConfigWriter::write_latents() {
  const MlaSizes& mla = config_.mla;
  set_count("attention.head_count_kv", 1);
  if (mla.q_rank > 0) set_count("attention.q_lora_rank", mla.q_rank);
  set_count("attention.kv_lora_rank", mla.kv_rank);
  set_count("attention.key_length", mla.kv_rank + mla.rope);
  set_count("attention.value_length", mla.kv_rank);
  set_count("attention.key_length_mla", mla.nope + mla.rope);
  set_count("attention.value_length_mla", mla.value);
  const double eps = mla.norm_eps.value_or(config_.norm_eps);
  if (eps == config_.norm_eps) return;
  warnings_.push_back(cat("GGUF has one epsilon for all norms: those of the latents get ",
                          config_.norm_eps, " in place of ", eps));
}

void ConfigWriter::write_windows() {
  constexpr std::string_view kWindow = "attention.sliding_window";
  const auto most = std::max_element(config_.window.begin(), config_.window.end());
  const std::int64_t window = most == config_.window.end() ? 0 : *most;
  if (window == 0) {
    // Files of these architectures state a window; 0 says that there is none.
    if (family_.windows == WindowRule::kPattern) set_count(kWindow, 0);
    return;
  }
  const bool differ = std::any_of(config_.window.begin(), config_.window.end(),
                                  [&](std::int64_t w) { return w != 0 && w != window; });
  const bool everywhere = all_equal(config_.window);
  const bool by_pattern = has_window_pattern(traits_);
  const bool allowed = by_pattern || (everywhere && family_.windows == WindowRule::kAllLayers);
  if (differ || !allowed) {
    fail(cat(everywhere ? "all" : "some", " layers of architecture ", config_.architecture,
             " have a sliding_window"));
  }
  // An encoder's file states the width of both sides together.
  set_count(kWindow, config_.causal ? window : 2 * (window - 1));
  if (by_pattern) write_pattern();
}

/// Writes which layers have a window, unless the architecture's own pattern says so. Readers of
/// files whose layers differ in size want the list. Encoders' files have a period.
void ConfigWriter::write_pattern() {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  std::vector<bool> flags;
  for (std::int64_t i = 0; i < config_.layers; ++i) flags.push_back(windowed(i));
  const auto has_period = [&](std::int64_t period) {
    const LayerPattern pattern{period, traits_.windows.full_first};
    for (std::int64_t i = 0; i < config_.layers; ++i) {
      if (pattern.is_full(i) == flags[to_size(i)]) return false;
    }
    return true;
  };
  if (config_.sizes.empty() && has_period(traits_.windows.period)) return;
  for (std::int64_t period = 1; !config_.causal && period <= config_.layers; ++period) {
    if (has_period(period)) return set_count(kPattern, period);
  }
  out_.set_booleans(key(kPattern), flags);
}

void ConfigWriter::write_rope() {
  if (traits_.rotation == Rotation::kNone) return;
  const bool still = std::all_of(config_.rope_layer.begin(), config_.rope_layer.end(),
                                 [](std::int32_t rope) { return rope < 0; });
  if (family_.multipliers && still && !config_.rope_layer.empty()) {
    out_.set_boolean(key("rope.scaling.finetuned"), false);
  }
  const RopeConfig& rope = config_.ropes.front();
  set_count("rope.dimension_count", rope.dims);
  set_number("rope.freq_base", rope.theta);
  switch (rope.scaling.kind) {
    case RopeScaling::Kind::kNone:
    case RopeScaling::Kind::kLlama3:        // a tensor has the divisors of frequencies
    case RopeScaling::Kind::kProportional:  // as well
      break;
    case RopeScaling::Kind::kLinear:
      out_.set_text(key("rope.scaling.type"), "linear");
      set_number("rope.scaling.factor", rope.scaling.factor);
      break;
    case RopeScaling::Kind::kYarn:
      write_yarn(rope.scaling);
      break;
    case RopeScaling::Kind::kLongrope:
      write_longrope();
      break;
  }
  if (config_.ropes.size() > 1) write_window_rope();
}

void ConfigWriter::write_window_rope() {
  const RopeConfig& full = config_.ropes[0];
  const RopeConfig& window = config_.ropes[1];
  if (window.dims != full.dims) set_count("rope.dimension_count_swa", window.dims);
  if (window.theta != full.theta) set_number("rope.freq_base_swa", window.theta);
}

void ConfigWriter::write_yarn(const RopeScaling& s) {
  const RopeScaling usual;
  if (!s.truncate) fail("yarn's range of corrected dimensions is not rounded (truncate)");
  out_.set_text(key("rope.scaling.type"), "yarn");
  set_number("rope.scaling.factor", s.factor);
  set_count("rope.scaling.original_context_length", static_cast<std::int64_t>(s.original_context));
  if (s.beta_fast != usual.beta_fast) set_number("rope.scaling.yarn_beta_fast", s.beta_fast);
  if (s.beta_slow != usual.beta_slow) set_number("rope.scaling.yarn_beta_slow", s.beta_slow);
  if (config_.mla.kv_rank > 0 && config_.attention_scale) {
    if (s.attention_factor != 1) fail("yarn's mscale is not its mscale_all_dim");
    // Scores are multiplied by m^2, with m = multiplier ln(factor) + 1.
    const double m =
        math::pow(*config_.attention_scale * std::sqrt(static_cast<double>(config_.head_dim)), 0.5);
    const double log = math::log(s.factor);
    if (log > 0) set_number("rope.scaling.yarn_log_multiplier", (m - 1) / log, false);
    return;
  }
  if (!s.attention_factor) return;
  // GGUF multiplies YaRN's own factor by this one.
  set_number("rope.scaling.attn_factor", *s.attention_factor / (0.1 * math::log(s.factor) + 1),
             false);
}

/// Tensors have the divisors of frequencies.
void ConfigWriter::write_longrope() {
  set_count("rope.scaling.original_context_length",
            static_cast<std::int64_t>(config_.ropes.front().scaling.original_context));
  set_number("rope.scaling.attn_factor", model_.spec.ropes.front().factor, false);
}

void ConfigWriter::write_factors() {
  if (family_.multipliers) {
    if (config_.attention_scale) set_number("attention.scale", *config_.attention_scale, false);
    set_number("embedding_scale", config_.embed_scale, false);
    set_number("residual_scale", config_.residual_scale, false);
  }
  if (family_.logit_scale == LogitScale::kFactor) {
    set_number("logit_scale", config_.logit_scale, false);
  } else if (family_.logit_scale == LogitScale::kDivisor) {
    set_number("logit_scale", 1 / config_.logit_scale, false);
  }
  if (family_.score_cap) set_number("attn_logit_softcapping", config_.score_cap, false);
  if (family_.logit_cap && config_.logit_cap != 0) {
    set_number("final_logit_softcapping", config_.logit_cap, false);
  }
  if (family_.residual_by_norm) {
    out_.set_boolean(key("use_parallel_residual"), config_.parallel_residual);
  }
}

void ConfigWriter::write_experts() {
  if (config_.experts == 0) return;
  set_count("expert_count", config_.experts);
  set_count("expert_used_count", config_.experts_used);
  set_count("expert_feed_forward_length", config_.expert_ffn);
  if (config_.router.renormalise != family_.renormalise) {
    out_.set_boolean(key("expert_weights_norm"), config_.router.renormalise);
  }
  const bool shares = family_.shared_experts && config_.shared_ffn > 0;
  if (shares && family_.router_rules && config_.shared_ffn % config_.expert_ffn == 0) {
    set_count("expert_shared_count", config_.shared_ffn / config_.expert_ffn);
  } else if (shares) {
    set_count("expert_shared_feed_forward_length", config_.shared_ffn);
  }
  if (family_.router_rules) write_router();
  write_dense_layers();
}

void ConfigWriter::write_router() {
  const RouterRules& router = config_.router;
  set_count("expert_gating_func", router.sigmoid ? kSigmoid : kSoftmax);
  set_number("expert_weights_scale", router.scale, false);
  if (router.groups > 1) write_groups();
}

void ConfigWriter::write_groups() {
  set_count("expert_group_count", config_.router.groups);
  set_count("expert_group_used_count", config_.router.groups_used);
}

void ConfigWriter::write_dense_layers() {
  const auto& dense = config_.dense_layer;
  const auto first_sparse = std::find(dense.begin(), dense.end(), false);
  const bool leads = std::find(first_sparse, dense.end(), true) == dense.end();
  const auto count = std::count(dense.begin(), dense.end(), true);
  if (count > 0 && (!family_.router_rules || !leads)) {
    fail(cat(count, " of ", config_.layers, " layers of architecture ", config_.architecture,
             " have no experts"));
  }
  if (family_.router_rules) set_count("leading_dense_block_count", count);
}

void ConfigWriter::write_layer_inputs() {
  if (!family_.layer_inputs) return;
  set_count("embedding_length_per_layer_input", config_.layer_input);
  const auto shared = std::count_if(config_.kv_source.begin(), config_.kv_source.end(),
                                    [](std::int32_t source) { return source >= 0; });
  set_count("attention.shared_kv_layers", shared);
}

/// What GGUF does not say about an embedder's texts.
void ConfigWriter::warn_of_texts() {
  const EmbedderSettings& texts = checkpoint_.embedder();
  const TokenizerData* tokenizer = checkpoint_.tokenizer();
  const bool words = tokenizer != nullptr && tokenizer->model == TokenizerModel::kWordPiece;
  if (texts.lower_case && !words) {
    fail("texts are lower-cased (do_lower_case of sentence_bert_config.json)");
  }
  const auto chosen = std::find_if(
      texts.prompts.begin(), texts.prompts.end(),
      [&](const EmbedderPrompt& prompt) { return prompt.name == texts.default_prompt; });
  if (chosen != texts.prompts.end() && !chosen->text.empty()) {
    fail(cat("texts begin with the prompt ", printable(chosen->name),
             " (default_prompt_name of config_sentence_transformers.json)"));
  }
  if (!texts.prompts.empty()) {
    warnings_.push_back(
        cat("GGUF has no keys for prompts: write ", printable(texts.prompts.front().name),
            texts.prompts.size() > 1 ? " and the others" : "", " in front of the texts yourself"));
  }
  if (texts.max_tokens > 0 && texts.max_tokens < config_.context) {
    warnings_.push_back(cat("GGUF has no key for max_seq_length: texts may have ", config_.context,
                            " tokens, not ", texts.max_tokens));
  }
}

void ConfigWriter::write_pooling() {
  warn_of_texts();
  if (config_.labels > 0) return write_labels();
  const auto type = static_cast<std::int64_t>(config_.pooling);
  if (type == 0) return;
  if (!config_.normalise) fail("embeddings are not normalised (modules.json has no Normalize)");
  set_count("pooling_type", type);
  write_dense();
}

void ConfigWriter::write_labels() {
  if (!family_.classifier) {
    fail(cat("a model of architecture ", config_.architecture, " is a cross-encoder"));
  }
  if (!checkpoint_.embedder().sigmoid_scores) fail("the activation of scores is Identity");
  set_count("pooling_type", kRank);
  if (config_.labels == 1) return;
  StringTable names;
  for (std::int64_t i = 0; i < config_.labels; ++i) {
    names.add(config_.yes_or_no ? std::string(i == 0 ? "yes" : "no") : cat("LABEL_", i));
  }
  out_.set_texts(key("classifier.output_labels"), names);
}

void ConfigWriter::write_dense() {
  const std::vector<std::string> names = dense_names(config_, config_.dense.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    set_count(cat(names[i], "_feat_in"), config_.dense[i].inputs);
    set_count(cat(names[i], "_feat_out"), config_.dense[i].outputs);
  }
}

}  // namespace

void write_config(const Checkpoint& checkpoint, const BoundModel& model, GgufValues& out,
                  std::vector<std::string>& warnings) {
  static_assert(static_cast<int>(PoolingKind::kMean) == 1 &&
                    static_cast<int>(PoolingKind::kCls) == 2 &&
                    static_cast<int>(PoolingKind::kLast) == 3,
                "pooling_type has these values");
  ConfigWriter(checkpoint, model, out, warnings).write();
}

}  // namespace ingot
