// Byte-level BPE (GPT-2, Llama 3, Qwen): each piece of text is merged from its bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"
#include "text/tokenizer/token_model.h"

namespace ingot {

/// A byte-level BPE over tokens in GPT-2's byte alphabet. A byte without a token becomes the
/// unknown token, or is dropped when there is none, with a warning, as in Hugging Face's
/// tokenizers.
///
/// Errors:  those of MergeTable.
std::unique_ptr<TokenModel> make_byte_bpe(const TokenizerData& data,
                                          std::vector<std::string>& warnings);

}  // namespace ingot
