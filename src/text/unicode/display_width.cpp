// Asks utf8proc for the widths of code points.
#include "text/unicode/display_width.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace ingot {

int display_width(char32_t code) {
  if (code < 0x7F) return code >= 0x20 ? 1 : 0;
  return utf8proc_charwidth(static_cast<utf8proc_int32_t>(code));
}

std::int64_t display_width(std::string_view text) {
  std::int64_t columns = 0;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    columns += display_width(c.code);
    text.remove_prefix(c.size);
  }
  return columns;
}

std::string_view fit_columns(std::string_view text, std::int64_t columns) {
  std::size_t end = 0;
  while (end < text.size()) {
    const Utf8Char c = decode_utf8(text.substr(end));
    columns -= display_width(c.code);
    if (columns < 0) break;
    end += c.size;
  }
  return text.substr(0, end);
}

}  // namespace ingot
