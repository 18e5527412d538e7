// Checks a tokenizer's vocabulary, and limits its size.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Limit on the number of tokens of a vocabulary. Real vocabularies have up to 262,144.
constexpr std::size_t kTokensMax = std::size_t{1} << 22;
/// Limits on the bytes of one piece and of all pieces. In real files: some hundred, some million.
constexpr std::size_t kPieceBytesMax = 65'536;
constexpr std::size_t kAllPieceBytesMax = 67'108'864;
/// Limits on added tokens: their number, and their bytes. Gemma has about 6,400 added tokens.
constexpr std::size_t kAddedTokensMax = 1'000'000;
constexpr std::size_t kAddedBytesMax = 8'388'608;

/// The error for a tokenizer that cannot be used: model_error(file, "tokenizer", 0, reason).
Error vocabulary_error(const TokenizerData& data, std::string_view reason);

/// Checks a tokenizer's number of steps of one kind; `what` names the kind in the message.
///
/// Errors:  vocabulary_error for more than kTokenizerStepsMax.
void check_steps(const TokenizerData& data, std::size_t count, std::string_view what);

/// Checks what all kinds of vocabularies must fulfil.
///
/// Errors:  vocabulary_error for no tokens, exceeded limits, arrays of unequal length, or ids out
///          of range.
void check_vocabulary(const TokenizerData& data);

}  // namespace ingot
