// SentencePiece's tokenizer.model: a protocol buffer with pieces and settings.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Largest accepted model file in bytes; public ones have up to 6 MB.
inline constexpr std::uint64_t kSentencePieceBytesMax = 100'000'000;

/// Whether the bytes begin like a SentencePiece model: with a piece and its score.
bool is_sentencepiece_model(std::string_view bytes);

/// Reads a model. The file does not name BOS and EOS for a text: a BPE model begins with BOS
/// (Llama), a Unigram model ends with EOS (T5).
///
/// Errors:  model_error(file, "sentencepiece model", offset, reason) for malformed bytes, models
///          that are neither BPE nor Unigram, and settings that are not supported.
/// Source:  sentencepiece_model.proto of google/sentencepiece.
TokenizerData read_sentencepiece_model(std::span<const std::byte> bytes, const std::string& file);

}  // namespace ingot
