// White space and case by the rules of Python's str.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

/// Whether Python's str.isspace holds for the character: white space, and the separators U+001C to
/// U+001F.
bool is_python_space(char32_t code);

/// The number of bytes of white space at the start, or at the end, of `text`.
std::size_t leading_space(std::string_view text);
std::size_t trailing_space(std::string_view text);

/// Lower case, upper case, title case, and the form for comparison without case.
enum class Case { kLower, kUpper, kTitle, kFold };

/// Appends `code` in the case, which can be several characters (ß in upper case is SS).
///
/// Source:  Unicode's simple mappings, as utf8proc has them, and SpecialCasing.txt without the
///          conditional ones.
void append_cased(std::string& out, char32_t code, Case wanted);

/// Whether the character has upper and lower case, is lower case, is upper case.
bool is_cased(char32_t code);
bool is_lower(char32_t code);
bool is_upper(char32_t code);

}  // namespace ingot
