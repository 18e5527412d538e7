// BPE tokenizers: make a TokenModel that merges bytes, characters, or SentencePiece's pieces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A byte-level BPE (GPT-2, Llama 3, Qwen); `data` spells its tokens in GPT-2's byte alphabet. As
/// in Hugging Face's tokenizers, a byte without a token becomes the unknown token. If the
/// vocabulary has no unknown token, the byte is dropped. Both cases add a warning.
///
/// Errors:  those of MergeTable.
std::unique_ptr<TokenModel> make_byte_bpe(const TokenizerData& data,
                                          std::vector<std::string>& warnings);

/// A BPE that merges characters by rank (tokenizer.json of Llama 2, Mistral, Gemma). A character
/// without a token becomes byte tokens, or the unknown token if there are no byte tokens (one for a
/// whole run with `fuse_unknown`). Without byte and unknown tokens the character is dropped.
///
/// Errors:  those of MergeTable and read_byte_ids.
std::unique_ptr<TokenModel> make_char_bpe(const TokenizerData& data);

/// A SentencePiece BPE (Llama 2, Mistral, Phi-3), which merges the neighbours that give the piece
/// with the best score; texts have plain spaces, not U+2581. A character without a piece becomes
/// byte tokens. Without byte tokens a run of such characters becomes one unknown token.
///
/// Errors:  vocabulary_error for missing or malformed scores or byte tokens, and for pieces that
///          are too long to merge.
std::unique_ptr<TokenModel> make_sentencepiece_bpe(const TokenizerData& data);

}  // namespace ingot
