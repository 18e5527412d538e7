// Steps through UTF-8 text character by character, for the scanners of pre-tokenizers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "text/unicode/char_class.h"

namespace ingot {

/// One character of a text, or the end of the text (size 0). A byte of invalid UTF-8 counts as a
/// character without a class.
struct Char {
  char32_t code = 0xFFFD;
  CharClass kind = kOther;
  std::uint8_t size = 0;

  bool is_end() const { return size == 0; }
  bool is(unsigned classes) const { return (kind & classes) != 0; }
  /// Returns whether this is a character (not the end) that has none of `classes`.
  bool is_not(unsigned classes) const { return !is_end() && (kind & classes) == 0; }
  bool is_newline() const { return code == '\r' || code == '\n'; }
  bool is_digit() const { return code >= '0' && code <= '9'; }
};

/// Returns the character that begins at byte `at`; size 0 if `at` is at or behind the text's end.
inline Char char_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {byte, kAsciiClasses[byte], 1};
  const Utf8Char step = decode_utf8(text.substr(at));
  if (!step.valid) return {0xFFFD, kOther, 1};
  return {step.code, char_class(step.code), static_cast<std::uint8_t>(step.size)};
}

/// Returns the character that ends before byte `end`; size 0 if `end` is 0.
inline Char char_before(std::string_view text, std::size_t end) {
  constexpr std::size_t kSizeMax = 4;
  if (end == 0) return {};
  for (std::size_t size = std::min(end, kSizeMax); size > 1; --size) {
    const Char c = char_at(text.substr(0, end), end - size);
    if (c.size == size) return c;
  }
  return char_at(text.substr(0, end), end - 1);
}

/// Returns the end of the run of characters from byte `at` for which `wanted` is true.
template <class Wanted>
std::size_t run_end(std::string_view text, std::size_t at, const Wanted& wanted) {
  for (Char c = char_at(text, at); !c.is_end() && wanted(c); c = char_at(text, at)) at += c.size;
  return at;
}

/// Returns the end of the run of characters from byte `at` that have any of `classes`.
inline std::size_t class_end(std::string_view text, std::size_t at, unsigned classes) {
  return run_end(text, at, [classes](Char c) { return c.is(classes); });
}

}  // namespace ingot
