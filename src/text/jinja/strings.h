// Python's string operations (case, strip, pad, replace, split, join) on text with origins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "text/jinja/value.h"
#include "text/unicode/unicode_text.h"

namespace ingot::jinja {

/// Returns bytes [begin, end) of a string as a new string.
Value part_of(const String& string, std::size_t begin, std::size_t end);

/// Calls `visit` with each code point and the offset of its first byte.
template <class Visit>
void each_character(const String& string, const Visit& visit) {
  const std::string_view text = string.text.bytes;
  string.heap().spend_characters(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text.substr(at));
    visit(c.code, at);
    at += c.size;
  }
}

/// Appends `text`. If `escape` returns a text for a character, that text replaces the character.
/// The replacement has the origin of the character's first byte.
template <class Escape>
void append_escaped(const MarkedText& text, const Escape& escape, TextBuilder& out) {
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.bytes.size();) {
    const Utf8Char c = decode_utf8(std::string_view(text.bytes).substr(at));
    const auto escaped = escape(c.code);
    if (!escaped.empty()) {
      out.append(text, copied, at);
      out.append(escaped, text.origin(at));
      copied = at + c.size;
    }
    at += c.size;
  }
  out.append(text, copied, text.bytes.size());
}

/// Changes of case, named as in Python: lower, upper, casefold, swapcase, capitalize (first letter
/// upper, others lower) and title (capitalizes each run of letters).
enum class Casing { kLower, kUpper, kFold, kSwap, kCapitalize, kTitle };
Value change_case(const String& string, Casing casing);
/// The filter `title`: upper case for the first letter behind white space, - ( { [ and <.
Value title_words(const String& string);

/// The side or sides of a text that `strip` or `pad` changes.
enum class Side { kLeft, kRight, kBoth };
/// Python's strip: removes the characters in `chars` (null: white space) on the side `side`.
Value strip(const String& string, const std::string_view* chars, Side side);
/// Pads a string on the side `side` with `fill`, to `width` code points.
Value pad(const String& string, std::int64_t width, std::string_view fill, Side side);
/// Replaces the first `limit` occurrences of `from` by `to`; if `limit` < 0, all occurrences.
Value replace(const String& string, const MarkedText& from, const MarkedText& to,
              std::int64_t limit);
/// Python's split and rsplit. Null `separator`: splits at white space. Negative `limit`: no limit.
std::vector<Value> split(const String& string, const std::string_view* separator,
                         std::int64_t limit, bool from_right);
std::vector<Value> split_lines(const String& string, bool keep_ends);
Value join(Heap& heap, const Value& separator, const std::vector<Value>& parts);

/// Python's str.isupper() if `upper`, otherwise str.islower().
bool has_case(const String& string, bool upper);

/// Returns the number of code points in front of byte `at`.
std::int64_t index_of(const String& string, std::size_t at);

}  // namespace ingot::jinja
