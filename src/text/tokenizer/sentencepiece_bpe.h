// SentencePiece BPE (Llama 2, Mistral, Phi-3): neighbours merge whose joined piece has the best
// score.
#pragma once

#include <memory>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A SentencePiece BPE over texts with plain spaces. A character without a piece becomes its byte
/// tokens; without byte tokens a run of such characters becomes one unknown token.
///
/// Errors:  vocabulary_error for missing or malformed scores and byte tokens, and pieces too long
/// to
///          merge.
std::unique_ptr<TokenModel> make_sentencepiece_bpe(const TokenizerData& data);

}  // namespace ingot
