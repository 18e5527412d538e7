// UTF-8, decoded strictly: overlong forms, surrogates and code points above U+10FFFF are invalid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

/// One decoded step. Invalid bytes are skipped by their maximal valid prefix (Unicode 15, section
/// 3.9), so each invalid step becomes one U+FFFD.
struct Utf8Char {
  char32_t code = 0xFFFD;
  std::size_t size = 0;  ///< bytes taken; 0 only for an empty text
  bool valid = false;
};

/// Decodes the first code point of `text`. An empty text gives size 0 and is not valid.
Utf8Char decode_utf8(std::string_view text);

/// Bytes of the character at `at`, which must lie within `text`; 1 for a byte of invalid UTF-8.
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
