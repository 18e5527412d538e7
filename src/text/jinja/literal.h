// Parses string and number literals in a Jinja template.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::jinja {

/// A parsed number literal.
struct NumberLiteral {
  std::size_t size = 0;  ///< bytes of the literal
  bool is_float = false;
  std::int64_t integer = 0;
  double real = 0;
};

/// Parses the number at the start of `text`, which begins with a digit: decimal, 0x, 0o or 0b, with
/// underscores between digits. With `integer_only` a dot or an e ends the number.
///
/// Errors:  returns nothing if the number does not fit an int64 or a double.
std::optional<NumberLiteral> parse_number(std::string_view text, bool integer_only);

/// The text of a string literal (without its quotes), with Python's escapes resolved.
///
/// Errors:  returns nothing for an escape that is cut or names no character.
std::optional<std::string> unescape(std::string_view inside);

}  // namespace ingot::jinja
