// SentencePiece BPE (Llama 2, Mistral, Phi-3): neighbours merge whose joined piece has the best
// score.
#pragma once

#include <memory>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A SentencePiece BPE over texts with plain spaces. Characters without a piece become their byte
/// tokens, or else one unknown token for as many as are in a row.
///
/// Errors:  vocabulary_error for missing or malformed scores and byte tokens, and pieces that are
///          too long to merge.
std::unique_ptr<TokenModel> make_sentencepiece_bpe(const TokenizerData& data);

}  // namespace ingot
