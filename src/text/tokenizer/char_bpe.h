// BPE over characters by ranked merges (tokenizer.json of Llama 2, Mistral, Phi-3, Gemma).
#pragma once

#include <memory>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A BPE whose symbols are characters. A character without a token becomes its byte tokens, else
/// the unknown token (one per run when the file fuses them), else nothing.
///
/// Errors:  those of MergeTable and read_byte_ids.
std::unique_ptr<TokenModel> make_char_bpe(const TokenizerData& data);

}  // namespace ingot
