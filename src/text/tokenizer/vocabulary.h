// What every vocabulary must satisfy, and the bounds on it.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Most tokens of a vocabulary; real ones have up to 262 144.
constexpr std::size_t kTokensMax = std::size_t{1} << 22;
/// Most bytes of one piece and of all together; real ones have a few hundred and a few million.
constexpr std::size_t kPieceBytesMax = 65'536;
constexpr std::size_t kAllPieceBytesMax = 67'108'864;
/// Most tokens that are matched in texts before anything else, and their bytes; Gemma has about 6
/// 400.
constexpr std::size_t kAddedTokensMax = 1'000'000;
constexpr std::size_t kAddedBytesMax = 8'388'608;

/// A refusal of a tokenizer: model_error(file, "tokenizer", 0, reason).
Error vocabulary_error(const TokenizerData& data, std::string_view reason);

/// Checks what all kinds of vocabularies have in common.
///
/// Errors:  vocabulary_error for no tokens, more than the bounds above, arrays of another length,
/// ids out of range.
void check_vocabulary(const TokenizerData& data);

}  // namespace ingot
