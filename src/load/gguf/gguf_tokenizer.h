// The tokenizer stored in GGUF metadata.
#pragma once

#include <memory>

#include "load/gguf/gguf_metadata.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Reads the keys tokenizer.*; null where the file has no tokenizer.
///
/// Checked: types, that scores and token types have one entry a token, that ids are within the
/// vocabulary. An id of 2^32 - 1 (or -1, where the file's type is signed) means that there is none.
///
/// Errors: model_error(file, "metadata", offset, reason).
std::unique_ptr<TokenizerData> gguf_tokenizer(GgufKeys& keys);

}  // namespace ingot
