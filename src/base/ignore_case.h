// equal_ignoring_case: compares texts without regard to the case of ASCII letters.
#pragma once

#include <algorithm>
#include <string_view>

namespace ingot {

/// Returns the lower-case form of an ASCII letter; other bytes stay as they are.
constexpr char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Returns whether two texts are equal, ignoring the case of ASCII letters.
inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_ascii(x) == lower_ascii(y); });
}

/// Returns whether `text` begins with `prefix`, ignoring the case of ASCII letters.
inline bool starts_ignoring_case(std::string_view text, std::string_view prefix) {
  return equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

}  // namespace ingot
