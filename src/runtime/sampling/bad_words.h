// bad_word_tokens: turns texts that must not be generated into sequences of tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace ingot {

/// Returns the token sequences of texts: of each text alone, and behind a space if that differs.
/// Sorts the sequences. The sampler does not draw the last token of a sequence right after its
/// other tokens.
///
/// Errors: those of Tokenizer::encode.
std::vector<std::vector<std::int32_t>> bad_word_tokens(std::span<const std::string> words,
                                                       const Tokenizer& tokenizer);

}  // namespace ingot
