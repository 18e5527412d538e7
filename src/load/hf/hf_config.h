// config.json and generation_config.json of a Hugging Face folder, read into a Config.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/config.h"
#include "load/json.h"

namespace ingot {

/// Bounds on config.json and generation_config.json: far above real ones, and parsed within
/// milliseconds.
inline constexpr JsonLimits kHfConfigLimits = {
    .bytes_max = 8'388'608, .depth_max = 64, .nodes_max = 200'000, .string_bytes_max = 1'048'576};

/// Reads the members of config.json. Keys without effect here are ignored; a key that asks for
/// unsupported mathematics is refused. `auto_map` is ignored: no code is executed.
///
/// Appends assumptions to `warnings`. The caller calls `validate_config` after
/// read_generation_config.
///
/// Errors: model_error that names the key and its value.
/// Source: transformers, models/{llama,mistral,qwen2,qwen3,qwen3_moe}/configuration_*.py,
/// modeling_rope_utils.py.
Config read_hf_config(const Json& root, const std::string& file,
                      std::vector<std::string>& warnings);

/// Reads generation_config.json: its eos ids join those of config.json, its bos id fills a missing
/// one, and the object becomes Config::sampling.
void read_generation_config(const Json& root, const std::string& file, Config& config);

}  // namespace ingot
