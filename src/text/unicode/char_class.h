// Character classes of Unicode code points (letter, number, space, ...) for tokenizers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ingot {

/// Classes of a code point as bits. At most one of the bits kLetter to kSymbol is set.
enum CharClass : std::uint16_t {
  kOther = 0,
  kLetter = 1,         ///< general category L (\p{L})
  kNumber = 2,         ///< general category N (\p{N})
  kSpace = 4,          ///< property White_Space (\s)
  kPunctuation = 8,    ///< general category P (\p{P})
  kMark = 16,          ///< general category M (\p{M})
  kSymbol = 32,        ///< general category S (\p{S})
  kUpper = 64,         ///< general category Lu or Lt
  kLower = 128,        ///< general category Ll
  kWord = 256,         ///< \w of Unicode Technical Standard 18: Alphabetic, M, Nd, Pc, Join_Control
  kNonspacing = 512,   ///< general category Mn
  kControl = 1024,     ///< general category Cc or Cf
  kCombines = 2048,    ///< normal forms may reorder the character or join it to earlier ones
  kDecomposes = 4096,  ///< has a canonical or compatibility decomposition
};

/// Returns the classes of a code point; kOther above U+10FFFF. The first call builds a table.
///
/// Source:  general categories from utf8proc; White_Space and Other_Alphabetic from Unicode's
///          PropList.txt.
CharClass char_class(char32_t code);

/// Returns the classes of an ASCII character.
constexpr CharClass ascii_class(char c) {
  const bool upper = c >= 'A' && c <= 'Z';
  const bool lower = c >= 'a' && c <= 'z';
  unsigned classes = kOther;
  if (upper || lower) {
    classes = kLetter | kWord | (upper ? kUpper : kLower);
  } else if (c >= '0' && c <= '9') {
    classes = kNumber | kWord;
  } else if (c == ' ') {
    classes = kSpace;
  } else if (c < ' ' || c == '\x7F') {
    classes = (c >= '\t' && c <= '\r' ? kSpace : kOther) | kControl;
  } else if (std::string_view("$+<=>^`|~").find(c) != std::string_view::npos) {
    classes = kSymbol;
  } else {
    classes = c == '_' ? kPunctuation | kWord : kPunctuation;
  }
  return static_cast<CharClass>(classes);
}

inline constexpr std::array<CharClass, 128> kAsciiClasses = [] {
  std::array<CharClass, 128> classes{};
  for (std::size_t c = 0; c < classes.size(); ++c) classes[c] = ascii_class(static_cast<char>(c));
  return classes;
}();

}  // namespace ingot
