// White space and upper, lower and title case of characters, by the rules of Python's str.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

/// Python's str.isspace for a character: Unicode's White_Space characters, and the separators
/// U+001C to U+001F, which Unicode does not count as white space.
bool is_python_space(char32_t code);

/// The number of bytes of white space at the start (leading) or the end (trailing) of `text`.
std::size_t leading_space(std::string_view text);
std::size_t trailing_space(std::string_view text);

/// Whether `c` is a byte of a UTF-8 character, but not its first byte.
inline bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
/// The number of characters of `text`.
std::size_t count_characters(std::string_view text);
/// The index of the first byte of the character that ends in front of byte `end` (not 0).
std::size_t character_before(std::string_view text, std::size_t end);

/// Lower, upper and title case; kFold is the form for comparisons that ignore case.
enum class Case { kLower, kUpper, kTitle, kFold };

/// Appends `code` in the case `wanted`: one character or more, such as SS for ß in upper case.
///
/// Source:  Unicode's simple mappings from utf8proc, and the unconditional mappings of
///          SpecialCasing.txt.
void append_cased(std::string& out, char32_t code, Case wanted);

/// Whether the character has case: it is in upper, lower or title case.
bool is_cased(char32_t code);
bool is_lower(char32_t code);
bool is_upper(char32_t code);

}  // namespace ingot
