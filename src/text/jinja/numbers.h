// Parses and rounds numbers by Python's rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::jinja {

/// int(text, base): allows white space around it, a sign, and single underscores between digits.
/// Returns nothing for other text. Errors: RunError beyond 64 bits.
std::optional<std::int64_t> parse_int(std::string_view text, std::int64_t base);
/// float(text), including "inf" and "nan".
std::optional<double> parse_float(std::string_view text);
/// round(value, digits): the nearest decimal; ties go to the even digit.
double round_half_even(double value, int digits);

}  // namespace ingot::jinja
