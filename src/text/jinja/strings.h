// Python's operations on strings; they keep the origin of each byte.
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

/// A change of case: all lower, upper, folded or swapped; the first letter in title case and the
/// rest lower (capitalize); each run of letters so (str.title).
enum class Casing { kLower, kUpper, kFold, kSwap, kCapitalize, kTitle };
Value change_case(const String& string, Casing casing);
/// The filter `title`: upper case for the first letter behind white space, - ( { [ and <.
Value title_words(const String& string);

/// One end of a text, or both.
enum class Side { kLeft, kRight, kBoth };
/// strip(): removes characters of `chars` at the ends; white space when `chars` is null.
Value strip(const String& string, const std::string_view* chars, Side side);
/// Pads with `fill` to `width` code points, on `side`.
Value pad(const String& string, std::int64_t width, std::string_view fill, Side side);
/// Replaces the first `limit` occurrences; all when negative.
Value replace(const String& string, const MarkedText& from, const MarkedText& to,
              std::int64_t limit);
/// split(): at `separator`, at white space when null; at most `limit` times unless negative.
std::vector<Value> split(const String& string, const std::string_view* separator,
                         std::int64_t limit, bool from_right);
std::vector<Value> split_lines(const String& string, bool keep_ends);
Value join(Heap& heap, const Value& separator, const std::vector<Value>& parts);

/// The number of code points in front of the byte `at`.
std::int64_t index_of(const String& string, std::size_t at);

}  // namespace ingot::jinja
