// Escapes and classes of regular expressions: \d, \u{...}, \p{...}, [...].
#include "constraint/language/pattern_escape.h"

#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace ingot {
namespace {

constexpr char32_t kBackspace = 8;

CodePoints digits() { return CodePoints({{'0', '9'}}); }

/// White space and line ends of ECMA-262.
CodePoints spaces() {
  return CodePoints({{'\t', '\r'},
                     {' ', ' '},
                     {0xA0, 0xA0},
                     {0x1680, 0x1680},
                     {0x2000, 0x200A},
                     {0x2028, 0x2029},
                     {0x202F, 0x202F},
                     {0x205F, 0x205F},
                     {0x3000, 0x3000},
                     {0xFEFF, 0xFEFF}});
}

bool is_ascii_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Returns the value of a hexadecimal digit, or -1.
int hex_value(char32_t c) {
  if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<int>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<int>(c - 'A' + 10);
  return -1;
}

/// Reads exactly `count` hexadecimal digits; reads nothing if there are fewer.
std::optional<char32_t> read_hex(PatternReader& reader, std::size_t count) {
  const std::string_view text = reader.text.substr(reader.at, count);
  if (text.size() < count) return {};
  char32_t value = 0;
  for (const char c : text) {
    const int digit = hex_value(static_cast<unsigned char>(c));
    if (digit < 0) return {};
    value = value * 16 + static_cast<char32_t>(digit);
  }
  reader.at += count;
  return value;
}

/// Reads what follows `\u{`.
char32_t read_braced_code(PatternReader& reader, std::size_t begin) {
  char32_t value = 0;
  for (bool is_first = true; is_first || !reader.skips("}"); is_first = false) {
    const int digit = reader.is_at_end() ? -1 : hex_value(reader.next());
    if (digit < 0) reader.malformed(begin, "\\u{...} needs hexadecimal digits");
    value = value * 16 + static_cast<char32_t>(digit);
    if (value > CodePoints::kLast) reader.malformed(begin, "\\u{...} is above U+10FFFF");
  }
  return value;
}

/// Reads what follows `\u`. Two escapes of a surrogate pair are one code point.
char32_t read_unicode(PatternReader& reader, std::size_t begin) {
  if (reader.skips("{")) return read_braced_code(reader, begin);
  const std::optional<char32_t> high = read_hex(reader, 4);
  if (!high) reader.malformed(begin, "\\u needs four hexadecimal digits");
  if (*high < 0xD800 || *high > 0xDBFF || !reader.sees("\\u")) return *high;
  PatternReader ahead = reader;
  ahead.at += 2;
  const std::optional<char32_t> low = read_hex(ahead, 4);
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return *high;
  reader = ahead;
  return 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00);
}

char32_t read_control(PatternReader& reader, std::size_t begin) {
  const char32_t letter = reader.is_at_end() ? U' ' : reader.next();
  if (!is_ascii_letter(letter)) reader.malformed(begin, "\\c needs a letter");
  return letter % 32;
}

CodePoints read_property(PatternReader& reader, std::size_t begin) {
  const std::size_t close = reader.text.find('}', reader.at);
  if (!reader.skips("{") || close == std::string_view::npos) {
    reader.malformed(begin, "\\p needs a property in braces: \\p{L}");
  }
  const std::string_view name = reader.text.substr(reader.at, close - reader.at);
  const std::optional<CodePoints> found = property_characters(name);
  if (!found) {
    reader.unsupported(begin, cat("the property \\p{", printable(name, 40), "}"));
  }
  reader.at = close + 1;
  return *found;
}

/// Returns the characters of \d, \w, \s and their complements.
std::optional<CodePoints> class_of_letter(char32_t letter) {
  switch (letter) {
    case 'd':
      return digits();
    case 'D':
      return digits().complement();
    case 'w':
      return word_characters();
    case 'W':
      return word_characters().complement();
    case 's':
      return spaces();
    case 'S':
      return spaces().complement();
    default:
      return {};
  }
}

/// Reads the escape of one code point, behind the backslash and its first character `c`.
char32_t read_character(PatternReader& reader, char32_t c, std::size_t begin) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    case 'f':
      return '\f';
    case 'c':
      return read_control(reader, begin);
    case 'u':
      return read_unicode(reader, begin);
    case 'x':
      if (const std::optional<char32_t> code = read_hex(reader, 2)) return *code;
      reader.malformed(begin, "\\x needs two hexadecimal digits");
    case '0':
      if (reader.is_at_end() || hex_value(static_cast<unsigned char>(reader.text[reader.at])) < 0 ||
          hex_value(static_cast<unsigned char>(reader.text[reader.at])) > 9) {
        return 0;
      }
      reader.unsupported(begin, "an octal escape; write \\xNN");
    default:
      break;
  }
  if (c >= '1' && c <= '9') reader.unsupported(begin, "a backreference");
  if (is_ascii_letter(c)) {
    reader.malformed(begin, cat("there is no escape \\", static_cast<char>(c)));
  }
  return c;
}

/// What a class lists: a code point, which can begin a range, or a set.
struct ClassAtom {
  std::optional<char32_t> code{};
  CodePoints set{};
};

ClassAtom read_class_atom(PatternReader& reader) {
  const std::size_t begin = reader.at;
  const char32_t c = reader.next();
  if (c != '\\') return {.code = c};
  if (reader.skips("b")) return {.code = kBackspace};
  const char32_t letter = reader.next();
  if (std::optional<CodePoints> set = class_of_letter(letter)) return {.set = *set};
  if (letter == 'p') return {.set = read_property(reader, begin)};
  if (letter == 'P') return {.set = read_property(reader, begin).complement()};
  return {.code = read_character(reader, letter, begin)};
}

void append(std::vector<CodePointRange>& ranges, const ClassAtom& atom) {
  if (atom.code) ranges.push_back({*atom.code, *atom.code});
  ranges.insert(ranges.end(), atom.set.ranges().begin(), atom.set.ranges().end());
}

}  // namespace

bool PatternReader::skips(std::string_view token) {
  if (!sees(token)) return false;
  at += token.size();
  return true;
}

char32_t PatternReader::next() {
  const Utf8Char c = decode_utf8(text.substr(at));
  if (c.size == 0) malformed(at, "the pattern ends too early");
  if (!c.valid) malformed(at, "invalid UTF-8");
  at += c.size;
  return c.code;
}

void PatternReader::malformed(std::size_t byte, std::string_view reason) const {
  throw Error(ErrorCode::kInvalid, cat("is malformed at byte ", byte, ": ", reason));
}

void PatternReader::unsupported(std::size_t byte, std::string_view what) const {
  throw Error(ErrorCode::kInvalid, cat("is not supported at byte ", byte, ": ", what));
}

CodePoints read_escape(PatternReader& reader) {
  const std::size_t begin = reader.at - 1;
  const char32_t letter = reader.next();
  if (std::optional<CodePoints> set = class_of_letter(letter)) return *set;
  if (letter == 'p') return read_property(reader, begin);
  if (letter == 'P') return read_property(reader, begin).complement();
  const char32_t code = read_character(reader, letter, begin);
  return CodePoints({{code, code}});
}

CodePoints read_class(PatternReader& reader, CompileBudget& budget) {
  const std::size_t begin = reader.at - 1;
  const bool is_negated = reader.skips("^");
  std::vector<CodePointRange> ranges;
  while (!reader.skips("]")) {
    if (reader.is_at_end()) reader.malformed(begin, "[ without ]");
    const std::size_t first = reader.at;
    const ClassAtom low = read_class_atom(reader);
    budget.spend(1 + low.set.ranges().size());
    if (!reader.sees("-") || reader.sees("-]")) {
      append(ranges, low);
      continue;
    }
    reader.at += 1;
    const ClassAtom high = read_class_atom(reader);
    budget.spend(1 + high.set.ranges().size());
    if (low.code && high.code) {
      if (*low.code > *high.code) reader.malformed(first, "the range is out of order");
      ranges.push_back({*low.code, *high.code});
    } else {
      append(ranges, low);
      append(ranges, {.code = U'-'});
      append(ranges, high);
    }
  }
  const CodePoints set(std::move(ranges));
  return is_negated ? set.complement() : set;
}

CodePoints not_line_ends() {
  return CodePoints({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).complement();
}

CodePoints word_characters() {
  return CodePoints({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
}

}  // namespace ingot
