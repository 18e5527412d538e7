// The text that each token of a vocabulary decodes to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// A vocabulary in decoded form.
struct DecodedPieces {
  StringTable pieces;        ///< by id: its bytes, which may be parts of characters
  StringTable first_pieces;  ///< by id: its bytes at the beginning of a text; empty table when they
                             ///< never differ
  std::string strip;         ///< removed from the front of a text
  std::int32_t strip_count = 0;     ///< how many times at most
  bool replace_every_byte = false;  ///< one U+FFFD for each ill-formed byte
  std::size_t shrink_max = 1;       ///< largest factor by which decoding shrinks a token's text
};

/// Decodes every token of a vocabulary by the steps of its description.
///
/// Errors:  vocabulary_error for steps that need more than one token at a time.
DecodedPieces decode_pieces(const TokenizerData& data);

}  // namespace ingot
