// BPE tokenizer over characters with ranked merges (tokenizer.json of Llama 2, Mistral, Gemma).
#pragma once

#include <memory>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A BPE that merges characters. A character without a token becomes byte tokens, else the unknown
/// token (one per run if `fuse_unknown`). Without byte and unknown tokens it is dropped.
///
/// Errors:  those of MergeTable and read_byte_ids.
std::unique_ptr<TokenModel> make_char_bpe(const TokenizerData& data);

}  // namespace ingot
