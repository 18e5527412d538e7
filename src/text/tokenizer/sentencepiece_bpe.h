// SentencePiece BPE tokenizer (Llama 2, Mistral, Phi-3): merges the neighbours that give the piece
// with the best score.
#pragma once

#include <memory>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A SentencePiece BPE; texts have plain spaces, not U+2581. A character without a piece becomes
/// byte tokens. Without byte tokens a run of such characters becomes one unknown token.
///
/// Errors:  vocabulary_error for missing or malformed scores or byte tokens, and for pieces that
///          are too long to merge.
std::unique_ptr<TokenModel> make_sentencepiece_bpe(const TokenizerData& data);

}  // namespace ingot
