// Parses string and number literals of a Jinja template; Python's int(), float() and round().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::jinja {

/// Returns whether `c` is an ASCII digit.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A parsed number literal.
struct NumberLiteral {
  std::size_t size = 0;  ///< length of the literal in bytes
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;
};

/// Parses the number (decimal, 0x, 0o or 0b; underscores between digits) at the start of `text`.
/// `text` begins with a digit. With `integer_only`, the number ends before a dot or an e.
///
/// Errors:  returns nothing if the number does not fit an int64 or a double.
std::optional<NumberLiteral> parse_number(std::string_view text, bool integer_only);

/// Returns `inside`, a string literal without quotes, with Python's escapes resolved.
///
/// Errors:  returns nothing for an escape that is cut off or names no character.
std::optional<std::string> unescape(std::string_view inside);

/// Python's int(text, base): accepts outer white space, a sign, single underscores between digits.
/// Returns nothing for other text. Errors: RunError for a number beyond 64 bits.
std::optional<std::int64_t> parse_int(std::string_view text, std::int64_t base);
/// Parses Python's float(text), including "inf" and "nan"; nothing for other text.
std::optional<double> parse_float(std::string_view text);
/// Returns Python's round(value, digits). Ties go to the even digit.
double round_half_even(double value, int digits);

}  // namespace ingot::jinja
