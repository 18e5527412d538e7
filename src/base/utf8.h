// UTF-8, decoded strictly: overlong forms, surrogates and code points past U+10FFFF are invalid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

/// One decoded step. Invalid bytes are stepped over by their maximal valid prefix (Unicode 15,
/// section 3.9), so that each step that is not valid stands for one U+FFFD.
struct Utf8Char {
  char32_t code = 0xFFFD;
  std::size_t size = 0;  ///< bytes taken, at least 1 of a text that is not empty
  bool valid = false;
};

/// Decodes the first code point of `text`; of an empty text, size 0 and not valid.
Utf8Char decode_utf8(std::string_view text);

/// Bytes of the character at `at`, which must be within `text`; a byte that is not part of valid
/// UTF-8 is one.
std::size_t utf8_step(std::string_view text, std::size_t at);

/// Appends `code` (a valid scalar value) to `out`.
void append_utf8(std::string& out, char32_t code);

/// Whether all of `text` is valid UTF-8.
bool is_utf8(std::string_view text);

/// `text` with every invalid step replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

/// Bytes at the end of `text` that begin a code point and may be completed by later bytes: 0 to 3.
std::size_t incomplete_utf8_tail(std::string_view text);

}  // namespace ingot
