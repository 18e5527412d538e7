// BPE over characters by ranked merges (tokenizer.json of Llama 2, Mistral, Phi-3, Gemma).
#pragma once

#include <memory>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A BPE whose symbols are characters. One without a token becomes its byte tokens, or else the
/// unknown token (one for several in a row where the file fuses them), or else nothing.
///
/// Errors:  those of MergeTable and read_byte_ids.
std::unique_ptr<TokenModel> make_char_bpe(const TokenizerData& data);

}  // namespace ingot
