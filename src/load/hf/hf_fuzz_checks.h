// Checks for random tests and fuzz targets, which parse any bytes as a safetensors file, an index,
// a config.json or files of sentence-transformers. A failed check ends the process.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/index.h"
#include "load/config.h"
#include "load/hf/hf_config.h"
#include "load/hf/hf_embedder.h"
#include "load/hf/safetensors.h"
#include "load/hf/safetensors_index.h"

namespace ingot::testing_hf {

/// Runs `parse` and returns whether it succeeded. `parse` may fail only with a one-line
/// Error{kModel}.
template <class Parse>
bool accepts(Parse&& parse) {
  try {
    parse();
  } catch (const Error& error) {
    INGOT_CHECK(error.code() == ErrorCode::kModel, error.message());
    INGOT_CHECK(error.message().find('\n') == std::string::npos && error.message().size() < 6000,
                "a message of ", error.message().size(), " bytes");
    return false;
  }
  return true;
}

/// Parses a file, and checks that its tensors fill the data section, without gaps or overlaps.
inline bool check_safetensors(std::span<const std::byte> bytes) {
  Safetensors content;
  if (!accepts([&] { content = parse_safetensors(bytes, "fuzz.safetensors"); })) return false;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<std::uint64_t>(bytes[i]);
  std::uint64_t at = 8 + length;
  std::vector<std::string_view> names;
  for (const TensorInfo& tensor : content.tensors) {
    INGOT_CHECK(tensor.offset == at && tensor.data == bytes.data() + at, tensor.name);
    INGOT_CHECK(!tensor.name.empty() && tensor.name.size() <= kTensorNameMax, tensor.name);
    INGOT_CHECK(tensor.elements() >= 0 && tensor.shape.size() <= 8, tensor.name);
    INGOT_CHECK(tensor.bytes == 0 || tensor.elements() > 0, tensor.name);
    at += tensor.bytes;
    names.push_back(tensor.name);
  }
  INGOT_CHECK(at == bytes.size(), "the tensors end at ", at, " of ", bytes.size());
  std::sort(names.begin(), names.end());
  INGOT_CHECK(std::adjacent_find(names.begin(), names.end()) == names.end(), "equal names");
  return true;
}

/// Parses an index, and checks that it names only files in its own folder.
inline bool check_index(std::string_view text) {
  SafetensorsIndex index;
  if (!accepts([&] { index = parse_safetensors_index(text, "fuzz.index.json"); })) return false;
  INGOT_CHECK(!index.files.empty(), "no files");
  for (const std::string& name : index.files) {
    INGOT_CHECK(name.find('/') == std::string::npos && name.find('\0') == std::string::npos, name);
    INGOT_CHECK(name.size() > 12 && name.size() <= 255 && name.ends_with(".safetensors"), name);
  }
  for (const auto& [tensor, file] : index.tensors) {
    INGOT_CHECK(file >= 0 && file < std::ssize(index.files), tensor);
  }
  return true;
}

/// Checks that each layer that rotates has a usable rotary embedding.
inline void check_ropes(const Config& c) {
  INGOT_CHECK(!c.ropes.empty() && (c.rope_layer.empty() || std::ssize(c.rope_layer) == c.layers),
              c.rope_layer.size());
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const std::int32_t index = c.rope_layer.empty() ? 0 : at(c.rope_layer, layer);
    if (index < 0) continue;
    const RopeConfig& rope = at(c.ropes, index);
    const std::int64_t head = c.mla.kv_rank > 0 ? c.mla.rope
                              : c.sizes.empty() ? c.head_dim
                                                : at(c.sizes, layer).head_dim;
    INGOT_CHECK(rope.dims > 0 && rope.dims <= head && rope.dims % 2 == 0, rope.dims);
    INGOT_CHECK(rope.theta >= 1 && rope.theta <= 1e12, rope.theta);
    INGOT_CHECK(rope.scaling.factor > 0 && std::isfinite(rope.scaling.factor), rope.scaling.factor);
    for (const auto* factors : {&rope.scaling.short_factors, &rope.scaling.long_factors}) {
      INGOT_CHECK(factors->empty() || std::ssize(*factors) == rope.dims / 2, factors->size());
    }
  }
}

/// Checks the values of an accepted configuration that binding and the forward pass rely on.
inline void check_accepted(const Config& c) {
  INGOT_CHECK(c.layers > 0 && c.layers <= kLayersMax, c.layers);
  INGOT_CHECK(c.kv_heads > 0 && c.heads % c.kv_heads == 0, c.heads, " / ", c.kv_heads);
  INGOT_CHECK(c.hidden > 0 && c.hidden <= kHiddenMax && c.vocab > 0, c.hidden, " ", c.vocab);
  INGOT_CHECK(c.context > 0 && c.position_offset >= 0, c.context);
  INGOT_CHECK(c.norm_eps > 0 && c.norm_eps < 1, c.norm_eps);
  check_ropes(c);
  for (const double factor : {c.embed_scale, c.residual_scale, c.logit_scale, c.router.scale,
                              c.attention_scale.value_or(1)}) {
    INGOT_CHECK(factor > 0 && std::isfinite(factor), factor);
  }
  const auto is_list = [&](std::ptrdiff_t size) { return size == 0 || size == c.layers; };
  INGOT_CHECK(is_list(std::ssize(c.window)) && is_list(std::ssize(c.sizes)), c.window.size());
  INGOT_CHECK(is_list(std::ssize(c.dense_layer)) && is_list(std::ssize(c.kv_source)) &&
                  is_list(std::ssize(c.values_from_keys)),
              c.dense_layer.size());
  for (std::int64_t layer = 0; layer < std::ssize(c.kv_source); ++layer) {
    INGOT_CHECK(at(c.kv_source, layer) >= -1 && at(c.kv_source, layer) < layer, layer);
  }
  INGOT_CHECK(c.experts_used <= c.experts && c.experts <= kExpertsMax, c.experts);
  INGOT_CHECK(c.experts == 0 || c.experts % c.router.groups == 0, c.router.groups);
  INGOT_CHECK(c.labels >= 0 && c.labels <= kLabelsMax, c.labels);
  for (const EndToken& end : c.ends) INGOT_CHECK(end.id >= 0 && end.id < c.vocab, end.id);
}

/// Parses a configuration, and checks that its values are usable. `text` is a config.json,
/// optionally followed by NUL and a generation_config.json.
inline bool check_config(std::string_view text) {
  const auto nul = text.find('\0');
  Config c;
  const auto read = [&] {
    LoadNotes notes;
    const Json root = parse_json(text.substr(0, nul), "config.json", "config", kHfConfigLimits);
    c = read_hf_config(root, "config.json", notes);
    if (nul != std::string_view::npos) {
      const Json more = parse_json(text.substr(nul + 1), "g.json", "config", kHfConfigLimits);
      read_generation_config(more, "g.json", c, notes);
    }
    validate_config(c, "config.json");
  };
  if (!accepts(read)) return false;
  check_accepted(c);
  return true;
}

/// Parses the files of a sentence-transformers folder in this order, with NUL between them:
/// modules.json, the pooling's and a dense layer's config.json, prompts, text settings. Then parses
/// the second and third as a LogitScore's config.json and a cross-encoder's. Returns whether the
/// embedder's files are accepted.
inline bool check_embedder(std::string_view text) {
  std::array<std::string_view, 5> files{};
  for (std::string_view& file : files) {
    const auto nul = text.find('\0');
    file = text.substr(0, nul);
    text = nul == std::string_view::npos ? "{}" : text.substr(nul + 1);
  }
  HfModules modules;
  Config c;
  c.hidden = 64;
  EmbedderSettings settings;
  const auto parse = [](std::string_view file) {
    return parse_json(file, "e.json", "config", kHfConfigLimits);
  };
  const auto read = [&] {
    modules = read_hf_modules(parse(files[0]), "modules.json");
    read_hf_pooling(parse(files[1]), "pooling.json", c);
    read_hf_dense(parse(files[2]), "dense.json", "2_Dense", c);
    read_hf_prompts(parse(files[3]), "prompts.json", settings);
    read_hf_text_settings(parse(files[4]), "settings.json", settings);
  };
  accepts([&] {
    Config scored;
    scored.vocab = 64;
    read_hf_logit_score(parse(files[1]), "score.json", scored);
    INGOT_CHECK(std::ssize(scored.label_tokens) == scored.labels, scored.labels);
    for (const std::int32_t id : scored.label_tokens) INGOT_CHECK(id >= 0 && id < 64, id);
  });
  accepts([&] { read_hf_scores(parse(files[2]), "config.json", settings); });
  if (!accepts(read)) return false;
  modules.dense.push_back(modules.pooling);
  for (const std::string& path : modules.dense) {
    INGOT_CHECK(!path.empty() && path != "." && path != ".." && path.size() < 256 &&
                    path.find('/') == std::string::npos && path.find('\0') == std::string::npos,
                path);
  }
  INGOT_CHECK(c.pooling != PoolingKind::kNone && settings.max_tokens >= 0, settings.max_tokens);
  INGOT_CHECK(c.dense.front().outputs > 0, c.dense.front().outputs);
  return true;
}

}  // namespace ingot::testing_hf
