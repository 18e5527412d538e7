// Numbers in texts, and rounding, as Python has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::jinja {

/// int(text, base): white space around it, a sign, single underscores between digits. Nothing when
/// it is no such number. Errors: RunError beyond 64 bits.
std::optional<std::int64_t> parse_int(std::string_view text, std::int64_t base);
/// float(text), "inf" and "nan" among them.
std::optional<double> parse_float(std::string_view text);
/// round(value, digits): the nearest decimal, of two equally near ones the even one.
double round_half_even(double value, int digits);

}  // namespace ingot::jinja
