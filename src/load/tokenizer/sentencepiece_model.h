// Reads SentencePiece's tokenizer.model, a protocol buffer with pieces and settings.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Returns whether `bytes` begin like a SentencePiece model: with a piece and its score.
bool is_sentencepiece_model(std::string_view bytes);

/// Reads a SentencePiece model. The file does not say whether texts get BOS or EOS. This function
/// chooses BOS for a BPE model (like Llama), and EOS for a Unigram model (like T5).
///
/// Errors:  model_error(file, "sentencepiece model", offset, reason) for malformed bytes, a model
///          that is neither BPE nor Unigram, or a setting that is not supported.
/// Source:  sentencepiece_model.proto of google/sentencepiece.
TokenizerData read_sentencepiece_model(std::span<const std::byte> bytes, const std::string& file);

}  // namespace ingot
