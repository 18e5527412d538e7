// What each token of a vocabulary writes when it is decoded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// A vocabulary as decoding writes it.
struct DecodedPieces {
  StringTable pieces;        ///< by id: the bytes it stands for, which need not be whole characters
  StringTable first_pieces;  ///< by id: what it writes at the beginning of a text, where that can
                             ///< be something else; empty where it never is
  std::string strip;         ///< what is taken away in front of a text
  std::int32_t strip_count = 0;     ///< at most as often
  bool replace_every_byte = false;  ///< one U+FFFD for each ill-formed byte
  std::size_t shrink_max = 1;       ///< by how much a token's text can shrink when it is decoded
};

/// Decodes every token of a vocabulary by the steps of its description.
///
/// Errors:  vocabulary_error for steps that need more than one token at a time.
DecodedPieces decode_pieces(const TokenizerData& data);

}  // namespace ingot
