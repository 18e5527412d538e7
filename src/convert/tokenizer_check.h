// tokenizer_difference: compares a tokenizer with the one that a reader of its GGUF keys gets.
#pragma once

#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// Returns how `got` differs from `want`, for a message: "token 7 is decoded to another text".
/// Empty if there is no difference. `got` may have more tokens.
///
/// Compares each token's type, score and decoded text, the merges, the special tokens, and the
/// tokens of fixed texts and of texts with each added token. Leaves out texts that contain an added
/// token of `lost`, of which another message warns. Scores may differ by a rounding to 32 bits.
///
/// Errors: those of make_tokenizer.
std::string tokenizer_difference(const TokenizerData& want, const TokenizerData& got,
                                 const std::vector<AddedToken>& lost);

}  // namespace ingot
