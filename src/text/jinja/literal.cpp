// Parses string and number literals, int(), float() and round() by Python's rules.
#include "text/jinja/literal.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.h"
#include "text/jinja/heap.h"
#include "text/unicode/unicode_text.h"

namespace ingot::jinja {

namespace {

/// The digits from `at` on, with single underscores between them; empty when there is none.
std::size_t skip_digits(std::string_view text, std::size_t at, std::string& digits) {
  while (at < text.size()) {
    if (is_digit(text[at])) {
      digits += text[at++];
    } else if (text[at] == '_' && at > 0 && is_digit(text[at - 1]) && at + 1 < text.size() &&
               is_digit(text[at + 1])) {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

std::optional<NumberLiteral> parse_base(std::string_view text, int base) {
  NumberLiteral number{.size = 2};
  for (; number.size < text.size(); ++number.size) {
    const char c = text[number.size];
    if (c == '_') continue;
    const int digit = digit_value(c);
    if (digit >= base) break;
    if (number.integer > (INT64_MAX - digit) / base) return std::nullopt;
    number.integer = number.integer * base + digit;
  }
  return number;
}

/// Reads ".5", "e3" or ".5e-3" at `at` as a part of a float.
std::size_t skip_fraction(std::string_view text, std::size_t at, std::string& digits) {
  std::size_t end = at;
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    digits += '.';
    end = skip_digits(text, at + 1, digits);
  }
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    std::size_t exponent = end + 1;
    std::string sign = "e";
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) {
      if (text[exponent] == '-') sign += '-';
      ++exponent;
    }
    if (exponent < text.size() && is_digit(text[exponent])) {
      digits += sign;
      end = skip_digits(text, exponent, digits);
    }
  }
  return end;
}

}  // namespace

std::optional<NumberLiteral> parse_number(std::string_view text, bool integer_only) {
  if (text.size() > 2 && text[0] == '0') {
    const char kind = static_cast<char>(text[1] | 0x20);
    const int base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
    if (base != 0 && digit_value(text[2]) < base) return parse_base(text, base);
  }
  std::string digits;
  NumberLiteral number{.size = skip_digits(text, 0, digits)};
  if (!integer_only) {
    const std::size_t end = skip_fraction(text, number.size, digits);
    number.is_float = end > number.size;
    number.size = end;
  }
  const char* last = digits.data() + digits.size();
  const auto parsed = number.is_float ? std::from_chars(digits.data(), last, number.real)
                                      : std::from_chars(digits.data(), last, number.integer);
  if (parsed.ec != std::errc()) return std::nullopt;
  return number;
}

namespace {

/// Resolves the escapes of a string literal in order.
class Unescaper {
 public:
  explicit Unescaper(std::string_view inside) : in_(inside) {}

  std::optional<std::string> run() {
    while (at_ < in_.size()) {
      if (in_[at_] != '\\') {
        out_ += in_[at_++];
      } else if (!escape()) {
        return std::nullopt;
      }
    }
    return std::move(out_);
  }

 private:
  bool escape() {
    constexpr std::string_view kLetters = "\\'\"abfnrtv\n";
    constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    ++at_;
    if (at_ == in_.size()) return false;
    const char c = in_[at_++];
    if (const std::size_t i = kLetters.find(c); i != std::string_view::npos) {
      if (i < kMeanings.size()) out_ += kMeanings[i];  // a line break vanishes
      return true;
    }
    if (c >= '0' && c <= '7') return octal();
    if (c == 'x') return code(2);
    if (c == 'u') return code(4);
    if (c == 'U') return code(8);
    if (c == 'N') return false;
    out_ += '\\';
    out_ += c;
    return true;
  }

  bool octal() {
    char32_t value = 0;
    --at_;
    for (int i = 0; i < 3 && at_ < in_.size() && in_[at_] >= '0' && in_[at_] <= '7'; ++i) {
      value = value * 8 + static_cast<char32_t>(in_[at_++] - '0');
    }
    append_utf8(out_, value);
    return true;
  }

  bool code(std::size_t digits) {
    if (in_.size() - at_ < digits) return false;
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int digit = digit_value(in_[at_++]);
      if (digit > 15) return false;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    const bool is_surrogate = value >= 0xD800 && value < 0xE000;
    if (value > 0x10FFFF || is_surrogate) return false;
    append_utf8(out_, value);
    return true;
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::optional<std::string> unescape(std::string_view inside) { return Unescaper(inside).run(); }

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
