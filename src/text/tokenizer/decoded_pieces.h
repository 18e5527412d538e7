// DecodedPieces: the text of each token, decoded once when a tokenizer is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The decoded texts of a vocabulary's tokens, and the decoding steps that need the whole text.
struct DecodedPieces {
  StringTable pieces;        ///< bytes of each token, by id; may be a part of a character
  StringTable first_pieces;  ///< as `pieces`, for a text's first token; empty if equal to `pieces`
  std::string strip;         ///< prefix that decoding removes from a text
  std::int32_t strip_count = 0;     ///< limit on how often `strip` is removed
  bool replace_every_byte = false;  ///< true if each ill-formed byte becomes one U+FFFD
  std::size_t shrink_max = 1;       ///< largest factor by which decoding shrinks a token's text
};

/// Decodes every token of a vocabulary with the decoding steps of `data`.
///
/// Errors:  vocabulary_error for steps that need several tokens at once, or exceeded limits.
DecodedPieces decode_pieces(const TokenizerData& data);

}  // namespace ingot
