// Reads factors, caps, per-layer inputs and pooling from GGUF keys.
#include <cmath>

#include "base/index.h"
#include "base/text.h"
#include "load/gguf/gguf_config_parts.h"

namespace ingot {

namespace {

/// A cap of scores or logits. 0: no cap.
double read_cap(const GgufConfigParts& parts, std::string_view rest) {
  const double cap = parts.keys.number(rest).value_or(0);
  if (cap < 0) parts.keys.refuse(rest, "must not be negative");
  return cap;
}

void read_attention_scale(const GgufConfigParts& parts) {
  Config& config = parts.config;
  if (config.layers == parts.family.wide_score_layers) {
    config.attention_scale = 1 / std::sqrt(static_cast<double>(config.hidden / config.heads));
  }
  // 0 stands for none.
  if (!parts.family.multipliers) return;
  const double scale = parts.keys.number("attention.scale").value_or(0);
  if (scale != 0) config.attention_scale = parts.keys.positive("attention.scale");
}

/// Each layer's source of keys and values: the last layers read those of the last layer of their
/// kind (with a window, or without) that has its own.
std::vector<std::int32_t> kv_sources(const Config& config, std::int64_t shared) {
  const std::int64_t own = config.layers - shared;
  const auto windowed = [&](std::int64_t layer) {
    return !config.window.empty() && at(config.window, layer) > 0;
  };
  std::vector<std::int32_t> sources(to_size(config.layers), -1);
  for (std::int64_t layer = own; layer < config.layers; ++layer) {
    for (std::int64_t source = own - 1; source >= 0; --source) {
      if (windowed(source) != windowed(layer)) continue;
      at(sources, layer) = static_cast<std::int32_t>(source);
      break;
    }
  }
  return sources;
}

void read_shared_layers(const GgufConfigParts& parts) {
  constexpr std::string_view kShared = "attention.shared_kv_layers";
  Config& config = parts.config;
  const auto shared = parts.keys.integer(kShared, 0, config.layers - 1);
  if (shared.value_or(0) == 0) return;
  config.kv_source = kv_sources(config, *shared);
  for (std::int64_t layer = config.layers - *shared; layer < config.layers; ++layer) {
    if (at(config.kv_source, layer) >= 0) continue;
    parts.keys.refuse(kShared, cat("leaves layer ", layer, " without keys and values"));
  }
}

/// Full layers with keys of their own use these as values, if no such layer has a value projection.
void find_values_from_keys(const GgufConfigParts& parts) {
  Config& config = parts.config;
  std::vector<bool> from_keys(to_size(config.layers), false);
  std::optional<std::int64_t> lacking;
  bool any_projection = false;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const bool full = config.window.empty() || at(config.window, layer) == 0;
    const bool own = config.kv_source.empty() || at(config.kv_source, layer) < 0;
    if (!full || !own) continue;
    const bool projects = parts.has_block_tensor(layer, "attn_v.weight");
    at(from_keys, layer) = !projects;
    any_projection = any_projection || projects;
    if (!projects && !lacking) lacking = layer;
  }
  if (!lacking) return;
  if (any_projection) {
    parts.keys.all().fail(cat("tensor blk.", *lacking, ".attn_v.weight is missing"));
  }
  config.values_from_keys = std::move(from_keys);
}

/// The value of pooling_type that stands for a cross-encoder.
constexpr std::int64_t kRank = 4;

PoolingKind pooling_of(std::int64_t type) {
  constexpr PoolingKind kKinds[] = {PoolingKind::kNone, PoolingKind::kMean, PoolingKind::kCls,
                                    PoolingKind::kLast, PoolingKind::kCls};
  return at(kKinds, type);
}

/// A linear layer after pooling, if the file has its sizes.
void read_dense_module(const GgufConfigParts& parts, std::string_view name) {
  const auto inputs = parts.keys.integer(cat(name, "_feat_in"), 1, kHiddenMax);
  const auto outputs = parts.keys.integer(cat(name, "_feat_out"), 1, kHiddenMax);
  if (!inputs && !outputs) return;
  if (!inputs) parts.keys.missing(cat(name, "_feat_in"));
  if (!outputs) parts.keys.missing(cat(name, "_feat_out"));
  const std::vector<DenseLayer>& before = parts.config.dense;
  const std::int64_t width = before.empty() ? parts.config.hidden : before.back().outputs;
  if (*inputs != width) {
    parts.keys.refuse(cat(name, "_feat_in"), cat("follows a layer of ", width, " outputs"));
  }
  const std::string bias = cat(name, ".bias");
  parts.config.dense.push_back({.weight = cat(name, ".weight"),
                                .bias = parts.has_tensor(bias) ? bias : "",
                                .inputs = *inputs,
                                .outputs = *outputs});
}

/// Number of labels of a cross-encoder: one if the file does not name them.
std::int64_t read_labels(const GgufConfigParts& parts) {
  constexpr std::string_view kLabels = "classifier.output_labels";
  const GgufEntry* labels = parts.keys.all().array(parts.keys.key(kLabels), GgufType::kString);
  if (labels == nullptr) return 1;
  if (labels->count == 0 || labels->count > static_cast<std::uint64_t>(kLabelsMax)) {
    parts.keys.refuse(kLabels, cat("must have 1 to ", kLabelsMax, " elements"));
  }
  std::vector<std::string_view> names;
  labels->for_each_string([&](std::string_view name) { names.push_back(name); });
  parts.config.yes_or_no = names == std::vector<std::string_view>{"yes", "no"};
  return static_cast<std::int64_t>(labels->count);
}

/// The head of a cross-encoder. The tensors decide which layers it has.
void read_classifier(const GgufConfigParts& parts) {
  Config& config = parts.config;
  config.labels = read_labels(parts);
  const auto add = [&](std::string_view name, bool tanh, std::int64_t outputs) {
    const std::string bias = cat(name, ".bias");
    config.dense.push_back({.weight = cat(name, ".weight"),
                            .bias = parts.has_tensor(bias) ? bias : "",
                            .tanh = tanh,
                            .inputs = config.hidden,
                            .outputs = outputs});
  };
  if (parts.has_tensor("cls.weight")) add("cls", true, config.hidden);
  add("cls.output", false, config.labels);
}

}  // namespace

void read_factors(const GgufConfigParts& parts) {
  const ArchitectureKeys& keys = parts.keys;
  const GgufFamily& family = parts.family;
  Config& config = parts.config;
  if (family.root_embeddings) config.embed_scale = std::sqrt(static_cast<double>(config.hidden));
  read_attention_scale(parts);
  if (family.multipliers) {
    config.embed_scale = keys.positive("embedding_scale").value_or(1);
    config.residual_scale = keys.positive("residual_scale").value_or(1);
  }
  if (family.logit_scale != LogitScale::kRefused) {
    const double scale = keys.positive("logit_scale").value_or(1);
    config.logit_scale = family.logit_scale == LogitScale::kDivisor ? 1 / scale : scale;
  }
  if (family.score_cap) config.score_cap = read_cap(parts, "attn_logit_softcapping");
  if (family.logit_cap) config.logit_cap = read_cap(parts, "final_logit_softcapping");
  if (family.residual_by_norm) {
    // Some files of models with two norms say true.
    const bool stated = keys.flag("use_parallel_residual").value_or(true);
    config.parallel_residual = stated && !parts.has_block_tensor(0, "ffn_norm.weight");
  }
}

void read_layer_inputs(const GgufConfigParts& parts) {
  if (!parts.family.layer_inputs) return;
  parts.config.layer_input =
      parts.keys.integer("embedding_length_per_layer_input", 0, kHiddenMax).value_or(0);
  read_shared_layers(parts);
  find_values_from_keys(parts);
}

void read_pooling(const GgufConfigParts& parts) {
  constexpr std::string_view kType = "pooling_type";
  Config& config = parts.config;
  const std::int64_t type = parts.keys.integer(kType, 0, kRank).value_or(0);
  config.pooling = pooling_of(type);
  if (type == kRank) {
    if (!parts.family.classifier) {
      parts.keys.refuse(kType, "(a cross-encoder) is not supported for this architecture");
    }
    read_classifier(parts);
    // A decoder has read the whole text at its last token.
    if (config.causal) config.pooling = PoolingKind::kLast;
  }
  if (parts.family.dense_modules) {
    read_dense_module(parts, "dense_2");
    read_dense_module(parts, "dense_3");
  }
  // Files do not say whether embeddings are normalised. Nearly all embedders' are.
  config.normalise = config.pooling != PoolingKind::kNone && type != kRank;
}

}  // namespace ingot
