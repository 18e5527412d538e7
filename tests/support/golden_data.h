// Reads the shared goldens: prompts and matrices beside the models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/npy.h"
#include "load/checkpoint.h"
#include "load/json.h"
#include "quant/formats.h"

namespace ingot::testing_support {

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// A JSON array of token ids.
inline std::vector<std::int32_t> ints(const Json& list) {
  std::vector<std::int32_t> values;
  for (const Json& v : *list.as_array()) values.push_back(static_cast<std::int32_t>(*v.as_int()));
  return values;
}

/// The prompts in the folder of a golden model.
inline std::vector<std::vector<std::int32_t>> read_prompts(const std::filesystem::path& model) {
  const std::filesystem::path path = model / "prompts.json";
  const Json j = parse_json(read_file(path), path.string(), "prompts");
  std::vector<std::vector<std::int32_t>> prompts;
  for (const Json& p : *j.find("prompts")->as_array()) prompts.push_back(ints(p));
  return prompts;
}

inline Matrix read_matrix(const std::filesystem::path& path) {
  return read_npy(path.string(), [](std::int64_t, std::int64_t) {});
}

/// F32 for a model with BF16 matrices, whose rows `linear` rounds unless they are widened; nothing
/// for other models.
inline std::optional<Format> widened(const Checkpoint& checkpoint) {
  const auto tensors = checkpoint.tensors();
  const bool has_bf16 = std::any_of(tensors.begin(), tensors.end(), [](const TensorInfo& t) {
    return t.format == BF16::kFormat && t.shape.size() > 1;
  });
  return has_bf16 ? std::optional(F32::kFormat) : std::nullopt;
}

inline std::optional<Format> widened(const std::filesystem::path& model) {
  return widened(*Checkpoint::open(model.string()));
}

}  // namespace ingot::testing_support
