// Reads the tokenizer that GGUF metadata holds.
#pragma once

#include <memory>

#include "load/gguf/gguf_metadata.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads the keys tokenizer.*; null if the file has no tokenizer.
///
/// Checks that values have the right type, scores and token types have one entry per token, and ids
/// are within the vocabulary. An id of 2^32 - 1 (-1 if signed) means no token.
///
/// Errors: model_error(file, "metadata", offset, reason).
std::unique_ptr<TokenizerData> gguf_tokenizer(GgufKeys& keys);

}  // namespace ingot
