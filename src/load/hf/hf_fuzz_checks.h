// Checks for random tests and fuzz targets, which parse any bytes as a safetensors file, an index
// or a config.json. A failed check ends the process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "load/config.h"
#include "load/hf/hf_config.h"
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
  INGOT_CHECK(c.layers > 0 && c.layers <= kLayersMax, c.layers);
  INGOT_CHECK(c.kv_heads > 0 && c.heads % c.kv_heads == 0, c.heads, " / ", c.kv_heads);
  INGOT_CHECK(c.ropes.front().dims > 0 && c.ropes.front().dims <= c.head_dim &&
                  c.ropes.front().dims % 2 == 0,
              c.ropes.front().dims);
  INGOT_CHECK(c.hidden > 0 && c.hidden <= kHiddenMax && c.vocab > 0, c.hidden, " ", c.vocab);
  INGOT_CHECK(c.norm_eps > 0 && c.norm_eps < 1 && c.ropes.front().theta >= 1, c.norm_eps);
  INGOT_CHECK(c.ropes.front().scaling.factor > 0 &&
                  c.ropes.front().scaling.factor - c.ropes.front().scaling.factor == 0,
              c.ropes.front().scaling.factor);
  INGOT_CHECK(c.window.empty() || std::ssize(c.window) == c.layers, c.window.size());
  INGOT_CHECK(c.dense_layer.empty() || std::ssize(c.dense_layer) == c.layers, "dense layers");
  INGOT_CHECK(c.experts_used <= c.experts && c.experts <= kExpertsMax, c.experts);
  for (const EndToken& end : c.ends) INGOT_CHECK(end.id >= 0 && end.id < c.vocab, end.id);
  return true;
}

}  // namespace ingot::testing_hf
