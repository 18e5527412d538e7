// Reads a model's recommended sampling parameters from either container.
#pragma once

#include "load/config.h"
#include "load/gguf/gguf_metadata.h"
#include "load/json_keys.h"

namespace ingot {

/// Reads GGUF's keys general.sampling.*. Errors: those of GgufKeys, also for values out of range.
SamplingDefaults read_sampling(GgufKeys& keys);

/// Reads generation_config.json. Errors: those of JsonKeys.
SamplingDefaults read_sampling(const JsonKeys& keys);

}  // namespace ingot
