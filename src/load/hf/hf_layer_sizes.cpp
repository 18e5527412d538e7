// Reads sizes that differ between layers, and which layers share keys and values (Gemma 4).
#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "load/hf/hf_parts.h"

namespace ingot {

namespace {

/// Returns the layer that a member's name states, such as "12".
std::optional<std::int64_t> layer_of(std::string_view name, std::int64_t layers) {
  std::int64_t layer = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), layer);
  const bool whole = end.ec == std::errc() && end.ptr == name.data() + name.size();
  if (!whole || layer < 0 || layer >= layers) return std::nullopt;
  return layer;
}

/// Reads the members of per_layer_config: for each layer, the sizes in which it differs.
void read_per_layer(const HfKeys& keys, const Json& root, Config& c) {
  const JsonKeys& members = keys.members();
  if (root.as_object() == nullptr) members.refuse("per_layer_config", "expected an object");
  for (const auto& [name, value] : *root.as_object()) {
    const auto layer = layer_of(name, c.layers);
    if (!layer || value.as_object() == nullptr) {
      members.refuse(cat("per_layer_config.", printable(name, 64)), value,
                     cat("expected an object for a layer below ", c.layers));
    }
    const JsonKeys inner(value, members.file(),
                         cat(members.prefix(), "per_layer_config.", *layer, "."));
    LayerSizes& sizes = at(c.sizes, *layer);
    for (const auto& [key, size] : *value.as_object()) {
      if (key == "head_dim") {
        sizes.head_dim = inner.required_integer(key, 1, kHeadDimMax);
      } else if (key == "num_key_value_heads") {
        sizes.kv_heads = inner.integer(key, 1, kHeadsMax).value_or(sizes.kv_heads);
      } else {
        inner.refuse(printable(key, 64), size, "supported are head_dim and num_key_value_heads");
      }
    }
  }
}

/// Reads the older spelling: sizes of all full layers.
void read_global(const HfKeys& keys, const HfSlides& slides, bool values_are_keys, Config& c) {
  const auto head_dim = keys.integer("global_head_dim", 1, kHeadDimMax);
  const auto kv_heads = keys.integer("num_global_key_value_heads", 1, kHeadsMax);
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    if (at(slides, layer)) continue;
    LayerSizes& sizes = at(c.sizes, layer);
    sizes.head_dim = head_dim.value_or(c.head_dim);
    if (values_are_keys) sizes.kv_heads = kv_heads.value_or(c.kv_heads);
  }
}

/// Layers from `first` read the keys and values of the last earlier layer of their kind.
void share_keys(const HfKeys& keys, const HfSlides& slides, std::int64_t first, Config& c) {
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    std::int64_t source = layer < first ? -1 : first - 1;
    while (source >= 0 && at(slides, source) != at(slides, layer)) --source;
    if (layer >= first && source < 0) {
      keys.refuse("num_kv_shared_layers",
                  cat("no earlier layer has keys and values for layer ", layer));
    }
    c.kv_source.push_back(static_cast<std::int32_t>(source));
  }
}

void read_layer_input(const HfKeys& keys, Config& c) {
  c.layer_input = keys.integer("hidden_size_per_layer_input", 0, kHiddenMax).value_or(0);
  const auto rows = keys.integer("vocab_size_per_layer_input", 1, kVocabMax);
  if (c.layer_input > 0 && rows && *rows != c.vocab) {
    keys.members().fail(
        cat("vocab_size_per_layer_input is ", *rows, ", supported is vocab_size ", c.vocab));
  }
}

}  // namespace

void read_hf_layer_sizes(const HfKeys& keys, const HfSlides& slides, Config& config) {
  if (!keys.reads("per_layer_config")) return;
  const Json* mask = keys.members().get("use_bidirectional_attention");
  if (mask != nullptr && mask->dump() != "\"vision\"" && mask->dump() != "false") {
    keys.refuse("use_bidirectional_attention", "supported are null and vision");
  }
  const LayerSizes same{config.heads, config.kv_heads, config.head_dim, config.ffn};
  config.sizes.assign(to_size(config.layers), same);
  const bool values_are_keys = keys.flag("attention_k_eq_v");
  const Json* listed = keys.members().get("per_layer_config");
  if (listed != nullptr) {
    read_per_layer(keys, *listed, config);
  } else {
    read_global(keys, slides, values_are_keys, config);
  }
  const std::int64_t shared = keys.integer("num_kv_shared_layers", 0, config.layers).value_or(0);
  const std::int64_t first = config.layers - shared;
  if (shared > 0) share_keys(keys, slides, first, config);
  const std::int64_t ffn = keys.flag("use_double_wide_mlp") ? 2 * config.ffn : config.ffn;
  for (std::int64_t layer = first; layer < config.layers; ++layer) {
    at(config.sizes, layer).ffn = ffn;
  }
  for (std::int64_t layer = 0; layer < config.layers && values_are_keys; ++layer) {
    config.values_from_keys.push_back(!at(slides, layer) && layer < first);
  }
  read_layer_input(keys, config);
}

}  // namespace ingot
