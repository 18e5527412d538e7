// Checks on every vocabulary, and bounds on its size.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Most tokens of a vocabulary; real ones have up to 262,144.
constexpr std::size_t kTokensMax = std::size_t{1} << 22;
/// Most bytes of one piece, and of all pieces; real ones have some hundred, and some million.
constexpr std::size_t kPieceBytesMax = 65'536;
constexpr std::size_t kAllPieceBytesMax = 67'108'864;
/// Most added tokens, and most bytes of them; Gemma has about 6,400 tokens.
constexpr std::size_t kAddedTokensMax = 1'000'000;
constexpr std::size_t kAddedBytesMax = 8'388'608;

/// A refusal of a tokenizer: model_error(file, "tokenizer", 0, reason).
Error vocabulary_error(const TokenizerData& data, std::string_view reason);

/// Checks the properties common to all kinds of vocabularies.
///
/// Errors:  vocabulary_error for no tokens, exceeded bounds, arrays of unequal length, ids out of
///          range.
void check_vocabulary(const TokenizerData& data);

}  // namespace ingot
