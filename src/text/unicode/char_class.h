// Classes of code points for tokenizers: general categories and a few properties.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ingot {

/// Classes of a code point as bits; at most one of the first six is set.
enum CharClass : std::uint16_t {
  kOther = 0,
  kLetter = 1,         ///< general category L (\p{L})
  kNumber = 2,         ///< general category N (\p{N})
  kSpace = 4,          ///< property White_Space (\s)
  kPunctuation = 8,    ///< general category P (\p{P})
  kMark = 16,          ///< general category M (\p{M})
  kSymbol = 32,        ///< general category S (\p{S})
  kUpper = 64,         ///< Lu or Lt
  kLower = 128,        ///< Ll
  kWord = 256,         ///< \w of Unicode Technical Standard 18: Alphabetic, M, Nd, Pc, Join_Control
  kNonspacing = 512,   ///< Mn
  kControl = 1024,     ///< Cc or Cf
  kCombines = 2048,    ///< may move before, or compose with, an earlier character in a normal form
  kDecomposes = 4096,  ///< has a canonical or compatibility decomposition
};

/// The class of a code point up to U+10FFFF; anything above is kOther. The table is built at the
/// first call.
///
/// Source:  Unicode's general categories, as utf8proc has them; White_Space and Other_Alphabetic
///          from PropList.txt.
CharClass char_class(char32_t code);

/// char_class for ASCII characters; faster, for loops over mostly ASCII text.
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
