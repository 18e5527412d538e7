// Reads a model's hyper-parameters from GGUF metadata.
#pragma once

#include <functional>
#include <string_view>

#include "load/config.h"
#include "load/gguf/gguf_metadata.h"
#include "load/load_notes.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Returns whether a file has a tensor with this name.
using HasTensor = std::function<bool(std::string_view)>;

/// Reads the architecture's keys into a Config. `tokenizer` gives the ids of BOS and EOS, or is
/// null. `has_tensor` answers what some files state by their tensors alone. An architecture key
/// that gguf_config neither applies nor knows to be harmless is an error, because ignoring the key
/// could give wrong text. If `notes` accepts the key, it is a warning.
///
/// Errors: model_error(file, "metadata", offset, reason); those of `validate_config`.
/// Source: the GGUF specification's standardised keys; defaults from llama.cpp's load_hparams.
Config gguf_config(GgufKeys& keys, const TokenizerData* tokenizer, const HasTensor& has_tensor,
                   LoadNotes& notes);

}  // namespace ingot
