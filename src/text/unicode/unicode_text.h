// White space and upper, lower and title case of characters, by the rules of Python's str.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

/// Returns the result of Python's str.isspace for a character: true for Unicode's White_Space, and
/// for the separators U+001C to U+001F, which are not White_Space.
bool is_python_space(char32_t code);

/// Returns the size in bytes of the white space at the start (trailing_space: end) of `text`.
std::size_t leading_space(std::string_view text);
std::size_t trailing_space(std::string_view text);

/// Returns whether `c` is a continuation byte of UTF-8: not the first byte of a character.
inline bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
/// Returns the number of characters in `text`: all bytes except continuation bytes.
std::size_t count_characters(std::string_view text);
/// Returns where the character in front of byte `end` begins. `end` must not be 0.
std::size_t character_before(std::string_view text, std::size_t end);

/// The wanted case of a character; kFold is the form for comparisons that ignore case.
enum class Case { kLower, kUpper, kTitle, kFold };

/// Appends `code` in the case `wanted`: one character or more, such as SS for ß in upper case.
///
/// Source:  Unicode's simple mappings from utf8proc, and the unconditional mappings of
///          SpecialCasing.txt.
void append_cased(std::string& out, char32_t code, Case wanted);

/// Returns whether a character is in upper, lower or title case.
bool is_cased(char32_t code);
bool is_lower(char32_t code);
bool is_upper(char32_t code);

}  // namespace ingot
