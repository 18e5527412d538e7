// Reads config.json and generation_config.json of a Hugging Face folder into a Config.
#pragma once

#include <string>
#include <vector>

#include "load/config.h"
#include "load/json.h"
#include "load/json_keys.h"
#include "load/load_notes.h"

namespace ingot {

/// Limits on config.json and generation_config.json: far above real files, but so low that parsing
/// takes only milliseconds.
inline constexpr JsonLimits kHfConfigLimits = {
    .bytes_max = 8'388'608, .depth_max = 64, .nodes_max = 200'000, .string_bytes_max = 1'048'576};

/// Reads config.json. Ignores a key if it has no effect on the arithmetic; refuses a key that asks
/// for unsupported arithmetic, unless `notes` accepts the key. Ignores `auto_map`, because ingot
/// runs no code from models.
///
/// Adds its assumptions to `notes`. Call `read_generation_config` next, then `validate_config`.
///
/// Errors: model_error that names the key and its value.
/// Source: transformers, models/{llama,mistral,qwen2,qwen3,qwen3_moe}/configuration_*.py,
/// modeling_rope_utils.py.
Config read_hf_config(const Json& root, const std::string& file, LoadNotes& notes);

/// Reads generation_config.json. Adds its EOS ids to `config`, sets the BOS id if `config` has
/// none, and copies the whole object to Config::sampling. A wrong BOS id is ignored.
void read_generation_config(const Json& root, const std::string& file, Config& config,
                            LoadNotes& notes);

/// Reads rope_theta, rope_scaling (old spelling), rope_parameters (new spelling) and
/// partial_rotary_factor into `config`. Set `config.head_dim` and `config.context` before the call.
///
/// Errors: model_error for a scaling other than default, linear, llama3 and yarn, for an
///         unsupported member of a scaling, and if the old and new spelling disagree.
/// Source: transformers, modeling_rope_utils.py.
void read_hf_rope(const JsonKeys& keys, const std::string& file, Config& config, LoadNotes& notes);

}  // namespace ingot
