// Python's int(), float() and round().
#include "text/jinja/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "text/jinja/heap.h"
#include "text/unicode/unicode_text.h"

namespace ingot::jinja {

namespace {

std::string_view without_space(std::string_view text) {
  text.remove_prefix(leading_space(text));
  text.remove_suffix(trailing_space(text));
  return text;
}

/// `text` without underscores between digits; nothing if an underscore has another place.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const bool is_between = i > 0 && i + 1 < text.size() && text[i - 1] != '_' &&
                            std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 &&
                            std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0;
    if (!is_between) return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> parse_int(std::string_view text, std::int64_t base) {
  auto digits = without_underscores(without_space(text));
  if (!digits || digits->empty() || base < 2 || base > 36) return std::nullopt;
  const bool is_negative = digits->front() == '-';
  if (is_negative || digits->front() == '+') digits->erase(0, 1);
  const char kind = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '\0';
  if (kind != 0 && digits->size() > 2 && (*digits)[0] == '0' && ((*digits)[1] | 0x20) == kind) {
    digits->erase(0, 2);
  }
  if (digits->empty() || !(std::isalnum(static_cast<unsigned char>(digits->front())) != 0)) {
    return std::nullopt;
  }
  if (is_negative) digits->insert(0, 1, '-');
  std::int64_t value = 0;
  const char* end = digits->data() + digits->size();
  const auto parsed = std::from_chars(digits->data(), end, value, static_cast<int>(base));
  if (parsed.ptr != end) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range) fail("an integer beyond 64 bits");
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  auto digits = without_underscores(without_space(text));
  if (!digits || digits->empty()) return std::nullopt;
  std::transform(digits->begin(), digits->end(), digits->begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  std::string_view rest = *digits;
  const bool is_negative = rest.front() == '-';
  if (is_negative || rest.front() == '+') rest.remove_prefix(1);
  if (rest.empty() || rest.front() == '-') return std::nullopt;
  double value = 0;
  if (rest == "inf" || rest == "infinity") {
    value = HUGE_VAL;
  } else if (rest == "nan") {
    value = std::nan("");
  } else {
    const char* end = rest.data() + rest.size();
    const auto parsed = std::from_chars(rest.data(), end, value);
    if (parsed.ptr != end || std::isalpha(static_cast<unsigned char>(rest.front())) != 0) {
      return std::nullopt;
    }
    if (parsed.ec == std::errc::result_out_of_range) {
      // Too large or too small; the digits before the point, or the exponent's sign, decide.
      value =
          rest.find("e-") != std::string_view::npos || rest.front() == '0' || rest.front() == '.'
              ? 0.0
              : HUGE_VAL;
    }
  }
  return is_negative ? -value : value;
}

double round_half_even(double value, int digits) {
  if (!std::isfinite(value)) return value;
  if (digits < 0) {
    const double scale = std::pow(10.0, -digits);
    return std::nearbyint(value / scale) * scale;
  }
  char buffer[800];  // 309 digits, a sign, a point and 300 places
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, digits).ptr;
  double rounded = value;
  std::from_chars(buffer, end, rounded);
  return rounded;
}

}  // namespace ingot::jinja
