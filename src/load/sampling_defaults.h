// How a model's makers want its tokens drawn, from either container.
#pragma once

#include "load/config.h"
#include "load/gguf/gguf_metadata.h"
#include "load/json_keys.h"

namespace ingot {

/// From GGUF's keys general.sampling.*. Errors: as of GgufKeys, also for values out of range.
SamplingDefaults read_sampling(GgufKeys& keys);

/// From generation_config.json. Errors: as of JsonKeys.
SamplingDefaults read_sampling(const JsonKeys& keys);

}  // namespace ingot
