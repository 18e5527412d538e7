// What pre-tokenizers ask about a code point: letter, number, white space or punctuation.
#pragma once

#include <cstdint>

namespace ingot {

/// Classes of a code point, as bits. The first three exclude each other; a code point with none is
/// a sign or mark.
enum CharClass : std::uint8_t {
  kOther = 0,
  kLetter = 1,       ///< general category L (\p{L})
  kNumber = 2,       ///< general category N (\p{N})
  kSpace = 4,        ///< property White_Space (\s)
  kPunctuation = 8,  ///< general category P (\p{P})
};

/// The class of a code point up to U+10FFFF; anything above is kOther. The table is built at the
/// first call.
///
/// Source:  Unicode's general categories, as utf8proc has them; White_Space from PropList.txt.
CharClass char_class(char32_t code);

}  // namespace ingot
