// Python's string operations: case, white space, padding, splitting and joining.
#include "text/jinja/strings.h"

#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/jinja/print.h"

namespace ingot::jinja {

Value part_of(const String& string, std::size_t begin, std::size_t end) {
  TextBuilder out(string.heap());
  out.append(string.text, begin, end);
  return out.take(string.markup);
}

namespace {

/// Appends a character in a case; it gets the origin of byte `at`.
void append_cased(const String& string, std::size_t at, char32_t code, Case wanted,
                  TextBuilder& out) {
  std::string bytes;
  ingot::append_cased(bytes, code, wanted);
  out.append(bytes, string.text.origin(at));
}

/// Whether the capital sigma at `at` ends a word: its lower case is then final sigma.
///
/// Source:  Unicode 15, section 3.13, Final_Sigma; without case-ignorable characters.
bool is_final_sigma(std::string_view text, std::size_t at) {
  const bool letter_before =
      at > 0 && is_cased(decode_utf8(text.substr(character_before(text, at))).code);
  const Utf8Char after = decode_utf8(text.substr(at + 2));
  return letter_before && !(after.valid && is_cased(after.code));
}

void append_lower(const String& string, std::size_t at, char32_t code, TextBuilder& out) {
  constexpr char32_t kSigma = 0x3A3;
  constexpr char32_t kFinalSigma = 0x3C2;
  if (code == kSigma && is_final_sigma(string.text.bytes, at)) {
    out.append_code(kFinalSigma, string.text.origin(at));
  } else {
    append_cased(string, at, code, Case::kLower, out);
  }
}

}  // namespace

Value change_case(const String& string, Casing casing) {
  TextBuilder out(string.heap());
  bool in_word = false;
  each_character(string, [&](char32_t code, std::size_t at) {
    const bool starts = !in_word;
    in_word = casing == Casing::kCapitalize || is_cased(code);
    const bool is_title = casing == Casing::kTitle || casing == Casing::kCapitalize;
    if (is_title && starts) {
      append_cased(string, at, code, Case::kTitle, out);
    } else if (casing == Casing::kFold) {
      append_cased(string, at, code, Case::kFold, out);
    } else if (casing == Casing::kUpper || (casing == Casing::kSwap && is_lower(code))) {
      append_cased(string, at, code, Case::kUpper, out);
    } else if (casing != Casing::kSwap || is_upper(code)) {
      append_lower(string, at, code, out);
    } else {
      out.append_code(code, string.text.origin(at));
    }
  });
  return out.take(string.markup);
}

Value title_words(const String& string) {
  TextBuilder out(string.heap());
  bool starts = true;
  each_character(string, [&](char32_t code, std::size_t at) {
    const bool separates = is_python_space(code) ||
                           (code < 0x80 && std::string_view("-({[<").find(
                                               static_cast<char>(code)) != std::string_view::npos);
    if (starts && !separates) {
      append_cased(string, at, code, Case::kUpper, out);
    } else {
      append_lower(string, at, code, out);
    }
    starts = separates;
  });
  return out.take(string.markup);
}

namespace {

bool has_character(std::string_view chars, char32_t code) {
  std::string bytes;
  append_utf8(bytes, code);
  return chars.find(bytes) != std::string_view::npos;
}

/// The number of bytes at the start of `text` that belong to characters of `chars`.
std::size_t leading(std::string_view text, std::string_view chars) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Char c = decode_utf8(text.substr(at));
    if (!has_character(chars, c.code)) break;
    at += c.size;
  }
  return at;
}

std::size_t trailing(std::string_view text, std::string_view chars) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t begin = character_before(text, end);
    if (!has_character(chars, decode_utf8(text.substr(begin)).code)) break;
    end = begin;
  }
  return text.size() - end;
}

}  // namespace

Value strip(const String& string, const std::string_view* chars, Side side) {
  std::string_view text = string.text.bytes;
  const std::size_t per_byte = chars == nullptr ? 0 : 1 + chars->size() / 16;
  string.heap().spend_bytes(text.size());
  string.heap().spend_characters(text.size() * per_byte);
  std::size_t begin = 0;
  if (side != Side::kRight) {
    begin = chars == nullptr ? leading_space(text) : leading(text, *chars);
  }
  text.remove_prefix(begin);
  std::size_t cut = 0;
  if (side != Side::kLeft) {
    cut = chars == nullptr ? trailing_space(text) : trailing(text, *chars);
  }
  return part_of(string, begin, begin + text.size() - cut);
}

Value pad(const String& string, std::int64_t width, std::string_view fill, Side side) {
  const auto have = static_cast<std::int64_t>(string.length());
  const auto missing = to_size(std::max<std::int64_t>(width - have, 0));
  Heap& heap = string.heap();
  heap.expect(missing, fill.size());
  heap.spend(missing / 8);  // each is appended by itself
  // Python's center puts the odd fill character to the left if the width is odd.
  const std::size_t odd = missing % 2 != 0 && width % 2 != 0 ? 1 : 0;
  std::size_t left = side == Side::kLeft ? missing : 0;
  if (side == Side::kBoth) left = missing / 2 + odd;
  TextBuilder out(heap);
  for (std::size_t i = 0; i < left; ++i) out.append_data(fill);
  out.append(string.text);
  for (std::size_t i = left; i < missing; ++i) out.append_data(fill);
  return out.take(string.markup);
}

Value replace(const String& string, const MarkedText& from, const MarkedText& to,
              std::int64_t limit) {
  const std::string& text = string.text.bytes;
  string.heap().spend_search(text.size(), from.bytes.size());
  TextBuilder out(string.heap());
  std::size_t copied = 0;
  std::size_t search = 0;
  for (; limit != 0; --limit) {
    const std::size_t found = text.find(from.bytes, search);
    if (found == std::string::npos) break;
    string.heap().spend(1);
    out.append(string.text, copied, found);
    out.append(to);
    copied = found + from.bytes.size();
    search = copied;
    if (!from.bytes.empty()) continue;
    // An empty text occurs in front of every character, and at the end.
    if (found == text.size()) break;
    search = found + decode_utf8(std::string_view(text).substr(found)).size;
  }
  out.append(string.text, copied, text.size());
  return out.take(string.markup);
}

namespace {

std::vector<Value> split_space(const String& string, std::int64_t limit) {
  const std::string_view text = string.text.bytes;
  std::vector<Value> parts;
  std::size_t at = leading_space(text);
  while (at < text.size()) {
    string.heap().spend(1);
    std::size_t end = at;
    if (limit == 0) {
      end = text.size();
    } else {
      while (end < text.size()) {
        const Utf8Char c = decode_utf8(text.substr(end));
        if (is_python_space(c.code)) break;
        end += c.size;
      }
    }
    parts.push_back(part_of(string, at, end));
    --limit;
    at = end + leading_space(text.substr(end));
  }
  return parts;
}

std::vector<Value> split_space_right(const String& string, std::int64_t limit) {
  const std::string_view text = string.text.bytes;
  std::vector<Value> parts;
  std::size_t end = text.size() - trailing_space(text);
  while (end > 0) {
    string.heap().spend(1);
    std::size_t begin = end;
    if (limit == 0) {
      begin = 0;
    } else {
      while (begin > 0 && trailing_space(text.substr(0, begin)) == 0) {
        begin = character_before(text, begin);
      }
    }
    parts.push_back(part_of(string, begin, end));
    --limit;
    end = begin - trailing_space(text.substr(0, begin));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Value> split_at(const String& string, std::string_view separator, std::int64_t limit,
                            bool from_right) {
  const std::string_view text = string.text.bytes;
  std::vector<Value> parts;
  std::size_t begin = 0;
  std::size_t end = text.size();
  for (; limit != 0; --limit) {
    const std::string_view rest = text.substr(begin, end - begin);
    const std::size_t found = from_right ? rest.rfind(separator) : rest.find(separator);
    if (found == std::string_view::npos) break;
    string.heap().spend(1);
    const std::size_t at = begin + found;
    const std::size_t behind = at + separator.size();
    parts.push_back(from_right ? part_of(string, behind, end) : part_of(string, begin, at));
    (from_right ? end : begin) = from_right ? at : behind;
  }
  parts.push_back(part_of(string, begin, end));
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::vector<Value> split(const String& string, const std::string_view* separator,
                         std::int64_t limit, bool from_right) {
  string.heap().spend_search(string.text.bytes.size(),
                             separator == nullptr ? 0 : separator->size());
  if (separator == nullptr) {
    return from_right ? split_space_right(string, limit) : split_space(string, limit);
  }
  if (separator->empty()) fail("empty separator");
  return split_at(string, *separator, limit, from_right);
}

std::vector<Value> split_lines(const String& string, bool keep_ends) {
  const std::string_view text = string.text.bytes;
  std::vector<Value> lines;
  std::size_t begin = 0;
  std::size_t skip = 0;  // end of a \n behind a \r
  each_character(string, [&](char32_t code, std::size_t at) {
    if (at < skip) return;
    const bool ends_line = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) ||
                           code == 0x85 || code == 0x2028 || code == 0x2029;
    if (!ends_line) return;
    std::size_t next = at + decode_utf8(text.substr(at)).size;
    if (code == '\r' && next < text.size() && text[next] == '\n') ++next;
    lines.push_back(part_of(string, begin, keep_ends ? next : at));
    begin = skip = next;
  });
  if (begin < text.size()) lines.push_back(part_of(string, begin, text.size()));
  return lines;
}

Value join(Heap& heap, const Value& separator, const std::vector<Value>& parts) {
  TextBuilder out(heap);
  bool first = true;
  for (const Value& part : parts) {
    heap.spend(1);
    if (!std::exchange(first, false)) out.append(separator.string().text);
    print(part, out);
  }
  heap.spend_bytes(out.size());
  return out.take();
}

std::int64_t index_of(const String& string, std::size_t at) {
  if (string.is_ascii()) return static_cast<std::int64_t>(at);
  string.heap().spend_bytes(at);
  const std::string_view before = std::string_view(string.text.bytes).substr(0, at);
  return static_cast<std::int64_t>(count_characters(before));
}

}  // namespace ingot::jinja
