// Reads a model's hyper-parameters from GGUF metadata.
#pragma once

#include "load/config.h"
#include "load/gguf/gguf_metadata.h"
#include "load/load_notes.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads the architecture's keys into a Config. `tokenizer` gives the ids of BOS and EOS, or is
/// null. An architecture key that gguf_config neither applies nor knows to be harmless is an error,
/// because ignoring the key could give wrong text. If `notes` accepts the key, it is a warning.
///
/// Errors: model_error(file, "metadata", offset, reason); those of `validate_config`.
/// Source: the GGUF specification's standardised keys; defaults from llama.cpp's llama-model.cpp.
Config gguf_config(GgufKeys& keys, const TokenizerData* tokenizer, LoadNotes& notes);

}  // namespace ingot
