// Reads SentencePiece's tokenizer.model, a protocol buffer with pieces and settings.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Whether `bytes` begin like a SentencePiece model: with a piece and its score.
bool is_sentencepiece_model(std::string_view bytes);

/// Reads a model. The file does not say whether a text gets BOS or EOS. This function adds BOS for
/// a BPE model (as Llama), and EOS for a Unigram model (as T5).
///
/// Errors:  model_error(file, "sentencepiece model", offset, reason) for malformed bytes, a model
///          that is neither BPE nor Unigram, or a setting that is not supported.
/// Source:  sentencepiece_model.proto of google/sentencepiece.
TokenizerData read_sentencepiece_model(std::span<const std::byte> bytes, const std::string& file);

}  // namespace ingot
