// Hyper-parameters from GGUF metadata.
#pragma once

#include "load/config.h"
#include "load/gguf/gguf_metadata.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads the architecture's keys into a Config; `tokenizer` (may be null) gives the special ids.
///
/// A key of the architecture that is neither applied nor known to change nothing is refused: it
/// may stand for something that the text would be wrong without.
///
/// Errors: model_error(file, "metadata", offset, reason); those of validate_config.
/// Source: the GGUF specification's standardised keys; defaults as in llama.cpp's llama-model.cpp.
Config gguf_config(GgufKeys& keys, const TokenizerData* tokenizer);

}  // namespace ingot
