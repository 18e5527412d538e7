// Reads config.json and generation_config.json of a Hugging Face folder into a Config.
#pragma once

#include <string>

#include "load/config.h"
#include "load/json.h"
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
/// Reads only the language model of a multimodal model: the object text_config.
///
/// Adds its assumptions to `notes`. Call `read_generation_config` next, then `validate_config`.
///
/// Errors: model_error that names the key and its value.
/// Source: transformers, models/*/configuration_*.py, modeling_rope_utils.py.
Config read_hf_config(const Json& root, const std::string& file, LoadNotes& notes);

/// Reads generation_config.json. Adds its EOS ids to `config`, sets the BOS id if `config` has
/// none, and copies the whole object to Config::sampling. A wrong BOS id is ignored.
void read_generation_config(const Json& root, const std::string& file, Config& config,
                            LoadNotes& notes);

}  // namespace ingot
