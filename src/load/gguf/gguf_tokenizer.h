// Reads the tokenizer that GGUF metadata holds.
#pragma once

#include <memory>

#include "load/gguf/gguf_metadata.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads a tokenizer from the keys tokenizer.*. Returns null if the file has no tokenizer.
///
/// Checks that each value has the right type, that scores and token types have one entry per token,
/// and that ids are within the vocabulary. The id 2^32 - 1 (-1 if signed) means: no token.
///
/// Errors: model_error(file, "metadata", offset, reason).
std::unique_ptr<TokenizerData> gguf_tokenizer(GgufKeys& keys);

}  // namespace ingot
