// Unicode normal form C for text that may hold invalid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

/// `text` in normal form C; bytes that are not valid UTF-8 stay as they are and are composed with
/// nothing.
///
/// Cost:    O(n log n), also for long runs of combining marks.
/// Source:  Unicode Standard Annex 15.
std::string to_nfc(std::string_view text);

}  // namespace ingot
