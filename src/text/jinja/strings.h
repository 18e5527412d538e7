// Python's operations on strings, which keep where each byte came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"
#include "text/unicode/unicode_text.h"

namespace ingot::jinja {

/// Bytes [begin, end) of a string.
Value part_of(const String& string, std::size_t begin, std::size_t end);

/// What of a word is in which case: all of it; the first letter of the text in title case and the
/// rest lower (capitalize); of each run of letters (str.title).
enum class Casing { kLower, kUpper, kFold, kSwap, kCapitalize, kTitle };
Value change_case(const String& string, Casing casing);
/// The filter `title`: the first letter behind white space, - ( { [ and < in upper case.
Value title_words(const String& string);

/// An end of a text, or both.
enum class Side { kLeft, kRight, kBoth };
/// strip(): without characters of `chars` at the ends; without white space when it has none.
Value strip(const String& string, const std::string_view* chars, Side side);
/// Filled up with `fill` to `width` code points; `side` is where the fill goes.
Value pad(const String& string, std::int64_t width, std::string_view fill, Side side);
/// The first `limit` occurrences replaced, all when negative.
Value replace(const String& string, const MarkedText& from, const MarkedText& to,
              std::int64_t limit);
/// split(): at `separator`, at white space without one; at most `limit` times unless negative.
std::vector<Value> split(const String& string, const std::string_view* separator,
                         std::int64_t limit, bool from_right);
std::vector<Value> split_lines(const String& string, bool keep_ends);
Value join(Heap& heap, const Value& separator, const std::vector<Value>& parts);

/// Code points in front of the byte `at`.
std::int64_t index_of(const String& string, std::size_t at);

}  // namespace ingot::jinja
