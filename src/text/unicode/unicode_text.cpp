// White space and case of characters, from utf8proc's tables and the table of special cases.
#include "text/unicode/unicode_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "base/index.h"
#include "base/utf8.h"
#include "text/unicode/char_class.h"
#include "text/unicode/special_case_tables.h"

namespace ingot {

bool is_python_space(char32_t code) {
  return (code >= 0x1C && code <= 0x1F) || (char_class(code) & kSpace) != 0;
}

std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Char c = decode_utf8(text.substr(at));
    if (!c.valid || !is_python_space(c.code)) break;
    at += c.size;
  }
  return at;
}

std::size_t trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && end - begin < 4 && continues_character(text[begin])) --begin;
    const Utf8Char c = decode_utf8(text.substr(begin, end - begin));
    if (!c.valid || c.size != end - begin || !is_python_space(c.code)) break;
    end = begin;
  }
  return text.size() - end;
}

std::size_t count_characters(std::string_view text) {
  return text.size() - to_size(std::count_if(text.begin(), text.end(), continues_character));
}

std::size_t character_before(std::string_view text, std::size_t end) {
  std::size_t begin = end - 1;
  while (begin > 0 && continues_character(text[begin])) --begin;
  return begin;
}

namespace {

const SpecialCase* find_special(char32_t code) {
  const auto* at = std::lower_bound(
      std::begin(kSpecialCases), std::end(kSpecialCases), code,
      [](const SpecialCase& entry, char32_t wanted) { return entry.code < wanted; });
  return at != std::end(kSpecialCases) && at->code == code ? at : nullptr;
}

void append_folded(std::string& out, char32_t code) {
  utf8proc_int32_t folded[8];
  const auto size = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), folded,
                                            std::size(folded), UTF8PROC_CASEFOLD, nullptr);
  for (utf8proc_ssize_t i = 0; i < size; ++i) append_utf8(out, static_cast<char32_t>(folded[i]));
}

}  // namespace

void append_cased(std::string& out, char32_t code, Case wanted) {
  constexpr char32_t kDottedI = 0x130;  // the only character with a lower case of two characters
  if (wanted == Case::kFold) return append_folded(out, code);
  const auto simple = static_cast<utf8proc_int32_t>(code);
  if (wanted == Case::kLower) {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(simple)));
    if (code == kDottedI) append_utf8(out, 0x307);
    return;
  }
  const bool upper = wanted == Case::kUpper;
  if (const SpecialCase* special = code < 0x80 ? nullptr : find_special(code)) {
    out += upper ? special->upper : special->title;
  } else {
    const auto changed = upper ? utf8proc_toupper(simple) : utf8proc_totitle(simple);
    append_utf8(out, static_cast<char32_t>(changed));
  }
}

bool is_lower(char32_t code) { return utf8proc_islower(static_cast<utf8proc_int32_t>(code)) != 0; }

bool is_upper(char32_t code) { return utf8proc_isupper(static_cast<utf8proc_int32_t>(code)) != 0; }

bool is_cased(char32_t code) {
  return is_lower(code) || is_upper(code) ||
         utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_LT;
}

}  // namespace ingot
