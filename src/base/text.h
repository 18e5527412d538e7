// cat and to_fixed: build text from values, independent of the locale and without iostreams.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace ingot {

namespace detail {
inline void append(std::string& out, std::string_view s) { out += s; }
inline void append(std::string& out, char c) { out += c; }
/// Appends "true" or "false". It is a template, so that pointers do not convert to bool.
template <std::same_as<bool> T>
void append(std::string& out, T b) {
  out += b ? "true" : "false";
}
template <class T>
requires((std::integral<T> || std::floating_point<T>)&&!std::same_as<T, bool> &&
         !std::same_as<T, char>) void append(std::string& out, T value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}
}  // namespace detail

/// Converts values to text and joins them: cat("tensor ", name, " has ", rows, " rows").
template <class... Args>
std::string cat(const Args&... args) {
  std::string out;
  (detail::append(out, args), ...);
  return out;
}

/// Returns `value` with `digits` digits after the decimal point, such as "0.50"; or "inf", "nan".
inline std::string to_fixed(double value, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return {text, end.ptr};
}

}  // namespace ingot
