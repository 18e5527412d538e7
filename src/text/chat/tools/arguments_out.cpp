// ArgumentsOut: escapes and decodes strings byte by byte.
#include "text/chat/tools/arguments_out.h"

#include <utility>

#include "base/utf8.h"

namespace ingot {

namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_escape(std::string& out, std::uint32_t unit) {
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[(unit >> shift) & 15U];
}

std::uint32_t hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint32_t>(c - 'A' + 10);
  return 0;
}

}  // namespace

void ArgumentsOut::string_bytes(std::string_view bytes) {
  if (is_custom_) {
    if (is_input_) text_ += bytes;
    return;
  }
  if (is_dropped_) return;
  for (const char c : bytes) {
    switch (c) {
      case '"':
        text_ += "\\\"";
        break;
      case '\\':
        text_ += "\\\\";
        break;
      case '\n':
        text_ += "\\n";
        break;
      case '\r':
        text_ += "\\r";
        break;
      case '\t':
        text_ += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          append_escape(text_, static_cast<unsigned char>(c));
        } else {
          text_ += c;
        }
    }
  }
}

void ArgumentsOut::key(std::string_view name) {
  const bool is_first = names_.empty();
  const bool is_new = names_.emplace(name).second;
  is_input_ = is_new && name == kCustomInput;
  is_dropped_ = !is_new;
  if (is_custom_ || is_dropped_) return;
  if (!is_first) text_ += ", ";
  begin_string();
  string_bytes(name);
  text_ += "\": ";
}

std::string ArgumentsOut::take() { return std::exchange(text_, {}); }

void StringDecoder::finish_unit(std::string& out) {
  const bool is_low = unit_ >= 0xDC00 && unit_ < 0xE000;
  if (high_ != 0 && is_low) {
    append_utf8(out, 0x10000 + ((high_ - 0xD800) << 10) + (unit_ - 0xDC00));
    high_ = 0;
    return;
  }
  if (high_ != 0) append_utf8(out, 0xFFFD);
  high_ = unit_ >= 0xD800 && unit_ < 0xDC00 ? unit_ : 0;
  if (high_ == 0) append_utf8(out, is_low || unit_ > 0x10FFFF ? 0xFFFD : unit_);
}

void StringDecoder::add(char c, std::string& out) {
  if (left_ > 0) {
    unit_ = unit_ * 16 + hex_digit(c);
    if (--left_ == 0) finish_unit(out);
    return;
  }
  if (is_escape_) {
    is_escape_ = false;
    unit_ = 0;
    left_ = c == 'u' ? 4 : c == 'x' ? 2 : c == 'U' ? 8 : 0;
    if (left_ > 0) return;
    if (high_ != 0) append_utf8(out, 0xFFFD);
    high_ = 0;
    if (c == '\n') return;  // a line that continues
    constexpr std::string_view kEscapes = "nrtbfav0";
    constexpr std::string_view kMeanings("\n\r\t\b\f\a\v\0", 8);
    const std::size_t known = kEscapes.find(c);
    out += known == std::string_view::npos ? c : kMeanings[known];
    return;
  }
  if (c == '\\') {
    is_escape_ = true;
    return;
  }
  if (high_ != 0) append_utf8(out, 0xFFFD);
  high_ = 0;
  out += c;
}

}  // namespace ingot
