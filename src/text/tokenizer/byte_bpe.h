// Byte-level BPE tokenizer (GPT-2, Llama 3, Qwen): merges the bytes of a text piece to tokens.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A byte-level BPE; `data` spells its tokens in GPT-2's byte alphabet. As in Hugging Face's
/// tokenizers, a byte without a token becomes the unknown token. If the vocabulary has no unknown
/// token, the byte is dropped. Either adds a warning.
///
/// Errors:  those of MergeTable.
std::unique_ptr<TokenModel> make_byte_bpe(const TokenizerData& data,
                                          std::vector<std::string>& warnings);

}  // namespace ingot
