// Widths of characters on a terminal.
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot {

/// Returns the number of columns in which a terminal shows a code point: 2 for wide characters, 0
/// for combining marks and control characters, else 1.
///
/// Source:  utf8proc, from Unicode's East Asian Width and general categories.
int display_width(char32_t code);

/// Returns the sum of the widths of a text's code points, in columns. Each invalid byte sequence
/// counts as one column.
std::int64_t display_width(std::string_view text);

/// Returns the longest beginning of `text` that fits into `columns`, without a cut between a
/// character and its combining marks.
std::string_view fit_columns(std::string_view text, std::int64_t columns);

}  // namespace ingot
