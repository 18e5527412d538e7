// BPE tokenizers: make a TokenModel that merges bytes, characters, or SentencePiece's pieces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// Makes a byte-level BPE model (GPT-2, Llama 3, Qwen). `data` spells tokens in GPT-2's byte
/// alphabet. A byte without a token becomes the unknown token, as in Hugging Face's tokenizers.
/// Without an unknown token the model drops the byte. Appends a line to `details` if a byte has no
/// token.
///
/// Errors:  those of MergeTable.
std::unique_ptr<TokenModel> make_byte_bpe(const TokenizerData& data,
                                          std::vector<std::string>& details);

/// Makes a BPE model that merges characters by rank (tokenizer.json of Llama 2, Mistral, Gemma). A
/// character without a token becomes byte tokens. Without byte tokens it becomes the unknown token.
/// `fuse_unknown` joins adjacent unknown tokens. Without an unknown token the character is dropped.
///
/// Errors:  those of MergeTable and read_byte_ids.
std::unique_ptr<TokenModel> make_char_bpe(const TokenizerData& data);

/// Makes a SentencePiece BPE model (Llama 2, Mistral, Phi-3). The model first merges the neighbours
/// that form the best-scored piece. Its input has spaces, not U+2581. A character without a piece
/// becomes byte tokens. Without byte tokens, a run of such characters becomes one unknown token.
///
/// Errors:  vocabulary_error for missing or malformed scores or byte tokens, and for pieces that
///          are too long to merge.
std::unique_ptr<TokenModel> make_sentencepiece_bpe(const TokenizerData& data);

}  // namespace ingot
