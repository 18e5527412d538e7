// The tokenizer stored in GGUF metadata.
#pragma once

#include <memory>

#include "load/gguf/gguf_metadata.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads the keys tokenizer.*; null where the file has no tokenizer.
///
/// Checks types, that scores and token types have one entry per token, and that ids are within the
/// vocabulary. An id of 2^32 - 1 (-1 in a signed type) means no token.
///
/// Errors: model_error(file, "metadata", offset, reason).
std::unique_ptr<TokenizerData> gguf_tokenizer(GgufKeys& keys);

}  // namespace ingot
