// fit: compares a text with a part of a syntax, byte by byte.
#include "text/chat/tools/call_syntax.h"

#include <cstddef>

namespace ingot {

namespace {

bool is_in_hole(char hole, char c) {
  const bool is_digit = c >= '0' && c <= '9';
  if (hole == 'd') return is_digit;
  if (hole == 'h') return c != '<' && c != '\n';
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_digit || is_letter || c == '_' || c == '-' || c == '.' || c == ':';
}

bool is_hole(std::string_view part, std::size_t at) {
  if (part[at] != '%' || at + 1 == part.size()) return false;
  const char c = part[at + 1];
  return c == 'd' || c == 'i' || c == 'h' || c == 's';
}

}  // namespace

Fit fit(std::string_view part, std::string_view text) {
  constexpr std::size_t kTextMax = 512;
  if (text.size() > kTextMax) return Fit::kNo;
  std::size_t at = 0;
  while (at < text.size() && is_space(text[at])) ++at;
  std::size_t p = 0;
  while (p < part.size()) {
    if (is_space(part[p])) {
      while (p < part.size() && is_space(part[p])) ++p;
      while (at < text.size() && is_space(text[at])) ++at;
      continue;
    }
    if (is_hole(part, p)) {
      while (at < text.size() && is_in_hole(part[p + 1], text[at])) ++at;
      p += 2;
      continue;
    }
    if (at == text.size()) return Fit::kBegun;
    if (text[at] != part[p]) return Fit::kNo;
    ++at;
    ++p;
  }
  return at == text.size() ? Fit::kWhole : Fit::kNo;
}

}  // namespace ingot
