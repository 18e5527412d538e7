// String and number literals of a template's expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::jinja {

/// A number at the start of a text.
struct NumberLiteral {
  std::size_t size = 0;  ///< bytes
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;
};

/// Parses the number at the start of `text`, which begins with a digit: decimal, 0x, 0o or 0b, with
/// underscores between digits; `integer_only` stops at a dot or an e.
///
/// Errors:  returns nothing for an integer beyond 64 bits or a float beyond a double.
std::optional<NumberLiteral> parse_number(std::string_view text, bool integer_only);

/// The text of a string literal with Python's escapes resolved.
///
/// Errors:  returns nothing for a truncated escape or one that names no character.
std::optional<std::string> unescape(std::string_view inside);

}  // namespace ingot::jinja
