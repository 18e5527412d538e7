// UTF-8 decoding by the table of well-formed byte sequences (Unicode 15, table 3-7).
#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace ingot {

namespace {

/// Properties of a lead byte: the length of its sequence, and the bounds of the second byte.
struct Lead {
  std::size_t size = 0;  ///< 0 for a byte that begins no form
  std::uint8_t second_min = 0x80;
  std::uint8_t second_max = 0xBF;
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {.size = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .second_min = 0xA0};
  if (byte == 0xED) return {.size = 3, .second_max = 0x9F};
  if (byte < 0xF0) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .second_min = 0x90};
  if (byte < 0xF4) return {.size = 4};
  if (byte == 0xF4) return {.size = 4, .second_max = 0x8F};
  return {};
}

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

/// The length of the longest prefix of `text` that begins a valid code point; 0 if the first byte
/// does not begin a code point.
std::size_t valid_prefix(std::string_view text, const Lead& lead) {
  if (lead.size == 0) return 0;
  std::size_t n = 1;
  while (n < lead.size && n < text.size()) {
    const std::uint8_t b = byte_at(text, n);
    const std::uint8_t low = n == 1 ? lead.second_min : std::uint8_t{0x80};
    const std::uint8_t high = n == 1 ? lead.second_max : std::uint8_t{0xBF};
    if (b < low || b > high) break;
    ++n;
  }
  return n;
}

}  // namespace

Utf8Char decode_utf8(std::string_view text) {
  if (text.empty()) return {};
  const Lead lead = lead_of(byte_at(text, 0));
  const std::size_t n = valid_prefix(text, lead);
  if (n == 0 || n < lead.size) return {.size = std::max<std::size_t>(n, 1)};
  if (n == 1) return {.code = byte_at(text, 0), .size = 1, .valid = true};
  // The lead byte of an n-byte form carries 7 - n payload bits.
  char32_t code = byte_at(text, 0) & (0x7Fu >> n);
  for (std::size_t i = 1; i < n; ++i) code = (code << 6) | (byte_at(text, i) & 0x3Fu);
  return {.code = code, .size = n, .valid = true};
}

std::size_t utf8_step(std::string_view text, std::size_t at) {
  if (static_cast<unsigned char>(text[at]) < 0x80) return 1;
  const Utf8Char step = decode_utf8(text.substr(at));
  return step.valid ? step.size : 1;
}

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (!c.valid) return false;
    text.remove_prefix(c.size);
  }
  return true;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (c.valid) {
      out += text.substr(0, c.size);
    } else {
      append_utf8(out, U'\uFFFD');
    }
    text.remove_prefix(c.size);
  }
  return out;
}

std::size_t incomplete_utf8_tail(std::string_view text) {
  for (std::size_t n = std::min<std::size_t>(3, text.size()); n > 0; --n) {
    const std::string_view tail = text.substr(text.size() - n);
    const Lead lead = lead_of(byte_at(tail, 0));
    if (lead.size > n && valid_prefix(tail, lead) == n) return n;
  }
  return 0;
}

}  // namespace ingot
