// Python's int(), float() and round() for templates.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::jinja {

/// Python's int(text, base): accepts outer white space, a sign, single underscores between digits.
/// Nothing for other text. Errors: RunError for a number beyond 64 bits.
std::optional<std::int64_t> parse_int(std::string_view text, std::int64_t base);
/// Python's float(text), including "inf" and "nan"; nothing for other text.
std::optional<double> parse_float(std::string_view text);
/// Python's round(value, digits); ties go to the even digit.
double round_half_even(double value, int digits);

}  // namespace ingot::jinja
