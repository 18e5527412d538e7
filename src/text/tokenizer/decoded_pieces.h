// DecodedPieces: the text of each token, decoded once when a tokenizer is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The decoded texts of a vocabulary's tokens, and the decoding steps that need the whole text.
struct DecodedPieces {
  StringTable pieces;        ///< decoded bytes of each token, by id; may be a part of a character
  StringTable first_pieces;  ///< decoded bytes of a text's first token, by id; empty: as `pieces`
  std::string strip;         ///< prefix that decoding removes from the start of a text; empty: none
  std::int32_t strip_count = 0;     ///< most times that decoding removes `strip` from a text
  bool replace_every_byte = false;  ///< true: each ill-formed byte becomes its own U+FFFD
  std::size_t shrink_max = 1;       ///< largest factor by which decoding shrinks a token's text
};

/// Decodes every token of a vocabulary with the decoding steps of `data`.
///
/// Errors:  vocabulary_error for steps that need several tokens at once, or for exceeded limits.
DecodedPieces decode_pieces(const TokenizerData& data);

}  // namespace ingot
