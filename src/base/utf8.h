// Strict UTF-8: overlong forms, surrogates and code points above U+10FFFF are invalid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ingot {

/// A decoded code point, or invalid bytes that U+FFFD replaces. The invalid bytes are the longest
/// incomplete beginning of a code point, or else a single byte (Unicode 15, section 3.9).
struct Utf8Char {
  char32_t code = 0xFFFD;
  std::size_t size = 0;  ///< number of decoded or invalid bytes; 0 only for an empty text
  bool valid = false;
};

/// Decodes the first code point of `text`. For an empty text, `size` is 0 and `valid` is false.
Utf8Char decode_utf8(std::string_view text);

/// Returns the size in bytes of the code point at byte `at` (< text.size()); 1 for invalid UTF-8.
std::size_t utf8_step(std::string_view text, std::size_t at);

/// Appends `code` to `out` as UTF-8. `code` must be a valid Unicode scalar value.
void append_utf8(std::string& out, char32_t code);

/// Returns whether all of `text` is valid UTF-8.
bool is_utf8(std::string_view text);

/// Returns `text` without the byte order mark at its start, if it has one.
std::string_view without_byte_order_mark(std::string_view text);

/// Returns `text` with one U+FFFD in place of each invalid byte sequence.
std::string to_valid_utf8(std::string_view text);

/// Returns the number of bytes (0 to 3) of the incomplete code point at the end of `text`.
std::size_t incomplete_utf8_tail(std::string_view text);

}  // namespace ingot
