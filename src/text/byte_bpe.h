// Byte-level BPE (GPT-2, Llama 3, Qwen): text is cut by a pattern and each piece merged from its
// bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "load/tokenizer_data.h"

namespace ingot {

class Tokenizer;

/// A byte-level BPE tokenizer; see make_tokenizer. User-defined tokens that are runs of spaces
/// (GPT-NeoX) are ordinary text and matched in every mode. Plain text that is not in normal form C
/// is normalised where the model's own tokenizer does so (qwen2); added tokens are found before
/// that. Llama 3 takes a piece of the pattern that is a token as it is, without merging. Bytes that
/// have no token are left out, as the reference does.
std::unique_ptr<Tokenizer> make_byte_bpe(const TokenizerData& data,
                                         std::vector<std::string>& warnings);

}  // namespace ingot
