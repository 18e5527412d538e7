// Python's string operations (case, strip, pad, replace, split, join); bytes keep their origins.
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

/// Changes of case, as Python's lower, upper, casefold, swapcase, capitalize (first letter upper,
/// others lower) and title (capitalizes each run of letters).
enum class Casing { kLower, kUpper, kFold, kSwap, kCapitalize, kTitle };
Value change_case(const String& string, Casing casing);
/// The filter `title`: upper case for the first letter behind white space, - ( { [ and <.
Value title_words(const String& string);

/// The end of a text that `strip` or `pad` changes.
enum class Side { kLeft, kRight, kBoth };
/// Python's strip: removes characters of `chars` at the ends; white space if `chars` is null.
Value strip(const String& string, const std::string_view* chars, Side side);
/// Pads a string with `fill` to `width` code points, on `side`.
Value pad(const String& string, std::int64_t width, std::string_view fill, Side side);
/// Replaces the first `limit` occurrences of `from`; all if `limit` is negative.
Value replace(const String& string, const MarkedText& from, const MarkedText& to,
              std::int64_t limit);
/// Python's split and rsplit. A null `separator` means white space; a negative `limit`, no limit.
std::vector<Value> split(const String& string, const std::string_view* separator,
                         std::int64_t limit, bool from_right);
std::vector<Value> split_lines(const String& string, bool keep_ends);
Value join(Heap& heap, const Value& separator, const std::vector<Value>& parts);

/// The number of code points in front of byte `at`.
std::int64_t index_of(const String& string, std::size_t at);

}  // namespace ingot::jinja
