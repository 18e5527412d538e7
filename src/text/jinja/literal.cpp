// Parses string and number literals by Python's rules.
#include "text/jinja/literal.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace ingot::jinja {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

}  // namespace ingot::jinja
