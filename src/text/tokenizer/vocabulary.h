// Checks a tokenizer's vocabulary, and limits its size.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Limit on the number of tokens in a vocabulary. Real vocabularies have up to 262,144 tokens.
constexpr std::size_t kTokensMax = std::size_t{1} << 22;
/// Limits on the bytes of one piece (real files: hundreds) and of all pieces (real: millions).
constexpr std::size_t kPieceBytesMax = 65'536;
constexpr std::size_t kAllPieceBytesMax = 67'108'864;
/// Limits on the number of added tokens and on their bytes. Gemma has about 6,400 added tokens.
constexpr std::size_t kAddedTokensMax = 1'000'000;
constexpr std::size_t kAddedBytesMax = 8'388'608;

/// Returns the error for an unusable tokenizer: model_error(data.file, "tokenizer", reason).
Error vocabulary_error(const TokenizerData& data, std::string_view reason);

/// Checks how many steps of one kind a tokenizer has. `what` names the kind in the message.
///
/// Errors:  vocabulary_error if `count` is more than kTokenizerStepsMax.
void check_steps(const TokenizerData& data, std::size_t count, std::string_view what);

/// Checks sizes and ids, by the rules that hold for all kinds of vocabularies.
///
/// Errors:  vocabulary_error for no tokens, exceeded limits, arrays of unequal length, or ids out
///          of range.
void check_vocabulary(const TokenizerData& data);

}  // namespace ingot
