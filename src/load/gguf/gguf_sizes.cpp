// Reads sizes, windows and MLA of a model from GGUF keys.
#include <algorithm>
#include <string_view>

#include "base/index.h"
#include "base/text.h"
#include "load/gguf/gguf_config_parts.h"

namespace ingot {

namespace {

/// The norm's epsilon: RMS and layer norms have different keys. Some files state both.
double read_epsilon(const GgufConfigParts& parts) {
  constexpr std::string_view kRms = "attention.layer_norm_rms_epsilon";
  constexpr std::string_view kLayer = "attention.layer_norm_epsilon";
  const bool rms = parts.traits.norm == Normalisation::kRms;
  const std::string_view rest = rms ? kRms : kLayer;
  const std::string_view other = rms ? kLayer : kRms;
  const std::optional<double> epsilon = parts.keys.number(rest);
  if (!epsilon) parts.keys.missing(rest);
  if (!(*epsilon > 0 && *epsilon < 1)) {
    parts.keys.refuse(rest, "must be greater than 0 and less than 1");
  }
  const std::optional<double> unused = parts.keys.number(other);
  if (unused && *unused != *epsilon) parts.keys.refuse(other, cat("is not that of ", rest));
  return *epsilon;
}

std::int64_t hidden_share(const GgufConfigParts& parts, std::int64_t heads) {
  constexpr std::string_view kHidden = "embedding_length";
  const std::int64_t hidden = parts.config.hidden;
  if (hidden % heads != 0) {
    parts.keys.refuse(kHidden, cat("is not a multiple of ", heads, " heads"));
  }
  if (hidden / heads > kHeadDimMax) {
    parts.keys.refuse(kHidden,
                      cat("gives ", heads, " heads of more than ", kHeadDimMax, " elements"));
  }
  return hidden / heads;
}

/// The size of heads by "attention.key_length" and "attention.value_length", which may be absent.
/// `suffix` selects those of layers with a window.
std::int64_t read_head_dim(const GgufConfigParts& parts, std::string_view suffix,
                           const auto& fallback) {
  const auto keys = parts.keys.integer(cat("attention.key_length", suffix), 1, kHeadDimMax);
  const auto values = parts.keys.integer(cat("attention.value_length", suffix), 1, kHeadDimMax);
  const std::int64_t key_dim = keys ? *keys : fallback();
  const std::int64_t value_dim = values ? *values : fallback();
  if (key_dim != value_dim) {
    parts.keys.all().fail(cat("heads have keys of ", key_dim, " and values of ", value_dim,
                              " elements: not supported"));
  }
  return key_dim;
}

/// Newer files describe MLA as attention with one key head, which is the latent. Keys that end in
/// "_mla" then have the sizes of heads. Older files have these under the usual keys.
void read_mla(const GgufConfigParts& parts) {
  const ArchitectureKeys& keys = parts.keys;
  Config& config = parts.config;
  MlaSizes& mla = config.mla;
  mla.kv_rank = keys.required("attention.kv_lora_rank", 1, kHiddenMax);
  mla.q_rank = keys.integer("attention.q_lora_rank", 0, kHiddenMax).value_or(0);
  mla.rope = keys.required("rope.dimension_count", 2, kHeadDimMax);
  const std::int64_t key_length = keys.required("attention.key_length", 1, kHiddenMax);
  const std::int64_t value_length = keys.required("attention.value_length", 1, kHiddenMax);
  const auto key_mla = keys.integer("attention.key_length_mla", 1, kHeadDimMax);
  const auto value_mla = keys.integer("attention.value_length_mla", 1, kHeadDimMax);
  if (key_mla && key_length != mla.kv_rank + mla.rope) {
    keys.refuse("attention.key_length", cat("is not the sum of the latent's ", mla.kv_rank, " and ",
                                            mla.rope, " rotated elements"));
  }
  if (value_mla && value_length != mla.kv_rank) {
    keys.refuse("attention.value_length", cat("is not the latent's ", mla.kv_rank, " elements"));
  }
  const std::string_view key_rest = key_mla ? "attention.key_length_mla" : "attention.key_length";
  config.head_dim = key_mla.value_or(key_length);
  mla.value = value_mla.value_or(value_length);
  mla.nope = config.head_dim - mla.rope;
  if (mla.nope < 1) keys.refuse(key_rest, cat("leaves nothing beside ", mla.rope, " rotated"));
  if (config.head_dim > kHeadDimMax) keys.refuse(key_rest, cat("is over ", kHeadDimMax));
  if (mla.value > kHeadDimMax) keys.refuse("attention.value_length", cat("is over ", kHeadDimMax));
  if (key_mla && config.kv_heads != 1) keys.refuse("attention.head_count_kv", "must be 1 for MLA");
  config.kv_heads = config.heads;
}

/// Sizes of all layers, before it is known whether layers differ.
struct LayerLists {
  std::vector<std::int64_t> heads, kv_heads, ffn;
};

LayerLists read_lists(const GgufConfigParts& parts) {
  constexpr std::string_view kHeads = "attention.head_count";
  constexpr std::string_view kKvHeads = "attention.head_count_kv";
  constexpr std::string_view kFfn = "feed_forward_length";
  LayerLists lists;
  lists.ffn = parts.keys.per_block(kFfn, parts.blocks, 1, kFfnMax);
  if (lists.ffn.empty()) parts.keys.missing(kFfn);
  lists.heads = parts.keys.per_block(kHeads, parts.blocks, 1, kHeadsMax);
  if (lists.heads.empty()) parts.keys.missing(kHeads);
  const std::int64_t heads_max = *std::max_element(lists.heads.begin(), lists.heads.end());
  lists.kv_heads = parts.keys.per_block(kKvHeads, parts.blocks, 1, heads_max);
  if (lists.kv_heads.empty()) lists.kv_heads = lists.heads;
  for (std::size_t i = 0; i < lists.heads.size(); ++i) {
    if (lists.heads[i] % lists.kv_heads[i] != 0) {
      parts.keys.refuse(kKvHeads, cat("does not divide ", lists.heads[i], " heads"));
    }
  }
  return lists;
}

bool same(const LayerSizes& a, const LayerSizes& b) {
  return a.heads == b.heads && a.kv_heads == b.kv_heads && a.head_dim == b.head_dim &&
         a.ffn == b.ffn;
}

/// Fills Config::sizes if layers differ.
void set_sizes(const GgufConfigParts& parts, const LayerLists& lists) {
  Config& config = parts.config;
  std::vector<LayerSizes> sizes;
  bool differ = false;
  for (std::size_t i = 0; i < to_size(config.layers); ++i) {
    const bool windowed = !config.window.empty() && config.window[i] > 0;
    sizes.push_back({.heads = lists.heads[i],
                     .kv_heads = lists.kv_heads[i],
                     .head_dim = windowed ? parts.window_head_dim : config.head_dim,
                     .ffn = lists.ffn[i]});
    differ = differ || !same(sizes[i], sizes[0]);
  }
  if (differ) config.sizes = std::move(sizes);
}

/// Which layers have a window, for an architecture with a pattern.
std::vector<bool> windowed_layers(const GgufConfigParts& parts) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  if (parts.keys.is_list(kPattern)) return parts.keys.flags(kPattern, parts.blocks);
  LayerPattern pattern = parts.traits.windows;
  pattern.period = parts.keys.integer(kPattern, 1, kLayersMax).value_or(pattern.period);
  std::vector<bool> windowed;
  for (std::int64_t i = 0; i < parts.blocks; ++i) windowed.push_back(!pattern.is_full(i));
  return windowed;
}

}  // namespace

bool GgufConfigParts::has_block_tensor(std::int64_t layer, std::string_view name) const {
  return has_tensor(cat("blk.", layer, ".", name));
}

void read_model_sizes(GgufConfigParts& parts) {
  const ArchitectureKeys& keys = parts.keys;
  Config& config = parts.config;
  parts.blocks = keys.required("block_count", 1, kLayersMax);
  config.mtp_layers = keys.integer("nextn_predict_layers", 0, parts.blocks - 1).value_or(0);
  config.layers = parts.blocks - config.mtp_layers;
  config.hidden = keys.required("embedding_length", 1, kHiddenMax);
  if (config.hidden % 2 != 0) keys.refuse("embedding_length", "is odd");
  config.context = keys.required("context_length", 1, kContextMax);
  config.norm_eps = read_epsilon(parts);
}

void read_windows(const GgufConfigParts& parts) {
  constexpr std::string_view kWindow = "attention.sliding_window";
  const WindowRule rule = parts.family.windows;
  const std::optional<std::int64_t> stated = parts.keys.integer(kWindow, 0, kContextMax);
  std::int64_t window = stated.value_or(parts.family.default_window);
  if (rule == WindowRule::kPattern && !stated && window == 0) parts.keys.missing(kWindow);
  std::vector<bool> windowed(to_size(parts.blocks), true);
  if (has_window_pattern(parts.traits)) windowed = windowed_layers(parts);
  if (window == 0) return;
  if (rule == WindowRule::kIfStated && !has_window_pattern(parts.traits)) {
    parts.keys.refuse(kWindow, "is not supported");
  }
  // An encoder's file states the width of both sides together.
  if (!parts.traits.causal) window = window / 2 + 1;
  for (std::size_t i = 0; i < to_size(parts.config.layers); ++i) {
    parts.config.window.push_back(windowed[i] ? window : 0);
  }
}

void read_layer_sizes(GgufConfigParts& parts) {
  Config& config = parts.config;
  const LayerLists lists = read_lists(parts);
  config.heads = lists.heads.front();
  config.kv_heads = lists.kv_heads.front();
  config.ffn = lists.ffn.front();
  if (parts.family.mla) return read_mla(parts);
  config.head_dim = read_head_dim(parts, "", [&] { return hidden_share(parts, config.heads); });
  parts.window_head_dim = config.head_dim;
  if (has_window_pattern(parts.traits)) {
    parts.window_head_dim = read_head_dim(parts, "_swa", [&] { return config.head_dim; });
  }
  set_sizes(parts, lists);
}

}  // namespace ingot
