// Builds messages of errors and of failed checks, and makes text printable.
#include "base/error.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"

namespace ingot {

namespace {

/// Stands where the offset of an error without an offset would be.
constexpr std::string_view kFiller = " @0";

void append_escaped(std::string& out, unsigned char byte) {
  constexpr char kHex[] = "0123456789abcdef";
  out += "\\x";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

std::atomic<CheckHandler> check_handler{nullptr};

}  // namespace

bool is_harmless(char32_t c) {
  if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return false;
  const bool bidi =
      (c >= 0x200e && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  const bool line = c == 0x2028 || c == 0x2029;
  return !bidi && !line;
}

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    if (out.size() >= bytes_max) return out + "...";
    const Utf8Char c = decode_utf8(text.substr(i));
    if (c.valid && is_harmless(c.code)) {
      out += text.substr(i, c.size);
    } else {
      for (std::size_t k = 0; k < c.size; ++k) {
        append_escaped(out, static_cast<unsigned char>(text[i + k]));
      }
    }
    i += c.size;
  }
  return out;
}

Error model_error(std::string_view file, std::string_view section, std::uint64_t offset,
                  std::string_view reason) {
  return {ErrorCode::kModel, cat(printable(file, 4096), ": ", section, " @", offset, ": ", reason)};
}

Error section_error(ErrorCode code, std::string_view file, std::string_view section,
                    std::string_view reason) {
  const std::string where = cat(printable(file, 4096), ": ", section);
  Error error(code, cat(where, kFiller, ": ", reason));
  error.filler_at_ = where.size();
  return error;
}

Error model_error(std::string_view file, std::string_view section, std::string_view reason) {
  return section_error(ErrorCode::kModel, file, section, reason);
}

std::string Error::plain_message() const {
  std::string text = message_;
  if (filler_at_ != std::string::npos) text.erase(filler_at_, kFiller.size());
  return text;
}

Error Error::with_end(std::string_view end) const {
  Error error = *this;
  error.message_ += end;
  return error;
}

void set_check_handler(CheckHandler handler) { check_handler.store(handler); }

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  if (const CheckHandler handler = check_handler.load(); handler != nullptr) {
    handler(file, line, cat(condition, " is false: ", message));
  }
  std::fprintf(stderr, "ingot: bug at %s:%d: %s is false: %s\n", file, line, condition,
               message.c_str());
  std::abort();
}

}  // namespace ingot
