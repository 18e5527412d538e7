// NFC by utf8proc's data. Its own canonical ordering is quadratic in a run of marks, so the
// ordering is done here.
#include "text/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"

namespace ingot {
namespace {

int combining_class(utf8proc_int32_t code) {
  return static_cast<int>(utf8proc_get_property(code)->combining_class);
}

void decompose(char32_t code, std::vector<utf8proc_int32_t>& out) {
  // The longest canonical decomposition of one code point has four (UAX 15, stability policy).
  std::array<utf8proc_int32_t, 8> parts;
  int boundary_state = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(code), parts.data(),
      static_cast<utf8proc_ssize_t>(parts.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary_state);
  INGOT_CHECK(count > 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()), "code point ",
              static_cast<std::uint32_t>(code), " decomposes into ", count);
  out.insert(out.end(), parts.begin(), parts.begin() + count);
}

void order_marks(std::vector<utf8proc_int32_t>& codes) {
  const auto is_starter = [](utf8proc_int32_t c) { return combining_class(c) == 0; };
  const auto by_class = [](utf8proc_int32_t a, utf8proc_int32_t b) {
    return combining_class(a) < combining_class(b);
  };
  for (auto at = codes.begin(); at != codes.end();) {
    const auto first = std::find_if_not(at, codes.end(), is_starter);
    at = std::find_if(first, codes.end(), is_starter);
    if (!std::is_sorted(first, at, by_class)) std::stable_sort(first, at, by_class);
  }
}

/// Appends a decomposed stretch in composed form and empties it.
void flush(std::vector<utf8proc_int32_t>& codes, std::string& out) {
  if (codes.size() > 1) {
    order_marks(codes);
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(
        codes.data(), static_cast<utf8proc_ssize_t>(codes.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    INGOT_CHECK(count >= 0, "composing failed with ", count);
    codes.resize(static_cast<std::size_t>(count));
  }
  for (const utf8proc_int32_t c : codes) append_utf8(out, static_cast<char32_t>(c));
  codes.clear();
}

}  // namespace

std::string to_nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::vector<utf8proc_int32_t> stretch;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char step = decode_utf8(text.substr(at));
    // No composition has an ASCII character in second place: a stretch may end before each.
    if (!step.valid || step.code < 0x80) flush(stretch, out);
    if (step.valid) {
      decompose(step.code, stretch);
    } else {
      out += text.substr(at, step.size);
    }
    at += step.size;
  }
  flush(stretch, out);
  return out;
}

}  // namespace ingot
