// CharState: reads code points from bytes, as UTF-8 or as the inside of a JSON string.
#include "constraint/match/chars.h"

#include <algorithm>

#include "base/utf8.h"

namespace ingot::match {
namespace {

using Phase = CharState::Phase;

constexpr char32_t kHighFirst = 0xD800, kHighLast = 0xDBFF, kLowFirst = 0xDC00, kLowLast = 0xDFFF;

/// Adds a range without its surrogates.
void add_scalars(CodeRanges& ranges, char32_t first, char32_t last) {
  ranges.add(first, std::min<char32_t>(last, kHighFirst - 1));
  ranges.add(std::max<char32_t>(first, kLowLast + 1), last);
}

void add_utf8(CodeRanges& ranges, const CharState& state) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned shift = 6u * state.left;
  const char32_t first = static_cast<char32_t>(state.bits) << shift;
  const char32_t last = first | ((char32_t{1} << shift) - 1);
  add_scalars(ranges, std::max(first, kLeast[state.size]), std::min(last, CodePoints::kLast));
}

void add_hex(CodeRanges& ranges, const CharState& state) {
  const unsigned shift = 4u * state.left;
  const char32_t first = static_cast<char32_t>(state.bits) << shift;
  const char32_t last = first | ((char32_t{1} << shift) - 1);
  add_scalars(ranges, first, last);
  const char32_t high_first = std::max(first, kHighFirst), high_last = std::min(last, kHighLast);
  if (high_first > high_last) return;
  ranges.add(0x10000 + ((high_first - kHighFirst) << 10),
             0x10000 + ((high_last - kHighFirst) << 10) + 0x3FF);
}

void add_low_hex(CodeRanges& ranges, const CharState& state) {
  const unsigned shift = 4u * state.left;
  const char32_t high = state.bits >> 16;
  const char32_t low = (state.bits & 0xFFFF) << shift;
  const char32_t first = std::max(low, kLowFirst);
  const char32_t last = std::min<char32_t>(low | ((char32_t{1} << shift) - 1), kLowLast);
  if (first > last) return;
  const char32_t base = 0x10000 + ((high - kHighFirst) << 10);
  ranges.add(base + (first - kLowFirst), base + (last - kLowFirst));
}

/// Characters that a JSON string never needs to escape.
constexpr std::array<CodePointRange, 3> kPlain{{{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7E}}};

CodeRanges without_plain(const CodeRanges& ranges) {
  CodeRanges kept;
  for (CodePointRange range : ranges.all()) {
    for (const CodePointRange& plain : kPlain) {
      if (plain.last < range.first || range.last < plain.first) continue;
      if (range.first < plain.first) kept.add(range.first, plain.first - 1);
      range.first = plain.last + 1;
    }
    kept.add(range.first, range.last);
  }
  return kept;
}

bool is_escape(const CharState& state) {
  return state.phase != Phase::kNone && state.phase != Phase::kUtf8;
}

int hex_digit(std::uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

char32_t short_escape(std::uint8_t byte) {
  switch (byte) {
    case 'b':
      return '\b';
    case 't':
      return '\t';
    case 'n':
      return '\n';
    case 'f':
      return '\f';
    case 'r':
      return '\r';
    case '"':
    case '/':
    case '\\':
      return byte;
    default:
      return 0;
  }
}

Read read_hex(CharState& state, std::uint8_t byte, char32_t& c) {
  const int digit = hex_digit(byte);
  if (digit < 0) return Read::kBad;
  const std::uint32_t high = state.phase == Phase::kLowHex ? state.bits & 0xFFFF0000u : 0;
  state.bits = high | ((state.bits << 4) & 0xFFF0u) | static_cast<std::uint32_t>(digit);
  state.left = static_cast<std::uint8_t>(state.left - 1);
  if (state.left > 0) return possible_chars(state).count > 0 ? Read::kPartial : Read::kBad;
  const std::uint32_t unit = state.bits & 0xFFFF;
  if (state.phase == Phase::kLowHex) {
    if (unit < kLowFirst || unit > kLowLast) return Read::kBad;
    c = 0x10000 + (((high >> 16) - kHighFirst) << 10) + (unit - kLowFirst);
  } else {
    if (unit >= kLowFirst && unit <= kLowLast) return Read::kBad;
    if (unit >= kHighFirst && unit <= kHighLast) {
      state = {.phase = Phase::kHighDone, .bits = unit};
      return Read::kPartial;
    }
    c = unit;
  }
  state = {};
  return Read::kChar;
}

Read read_escape(CharState& state, std::uint8_t byte, char32_t& c) {
  switch (state.phase) {
    case Phase::kBackslash:
      if (byte == 'u') {
        state = {.phase = Phase::kHex, .left = 4};
        return Read::kPartial;
      }
      c = short_escape(byte);
      if (c == 0) return Read::kBad;
      state = {};
      return Read::kChar;
    case Phase::kHighDone:
      if (byte != '\\') return Read::kBad;
      state.phase = Phase::kHighSlash;
      return Read::kPartial;
    case Phase::kHighSlash:
      if (byte != 'u') return Read::kBad;
      state = {.phase = Phase::kLowHex, .left = 4, .bits = state.bits << 16};
      return Read::kPartial;
    default:
      return read_hex(state, byte, c);
  }
}

}  // namespace

Read read_utf8(CharState& state, std::uint8_t byte, char32_t& c) {
  if (state.phase == Phase::kNone) {
    if (byte < 0x80) {
      c = byte;
      return Read::kChar;
    }
    if (byte < 0xC2 || byte > 0xF4) return Read::kBad;
    const std::uint8_t size = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    state = {.phase = Phase::kUtf8,
             .left = static_cast<std::uint8_t>(size - 1),
             .size = size,
             .bits = byte & (0x7Fu >> size)};
    return Read::kPartial;
  }
  if ((byte & 0xC0) != 0x80) return Read::kBad;
  state.bits = (state.bits << 6) | (byte & 0x3Fu);
  state.left = static_cast<std::uint8_t>(state.left - 1);
  CodeRanges ranges;
  add_utf8(ranges, state);
  if (ranges.count == 0) return Read::kBad;
  if (state.left > 0) return Read::kPartial;
  c = state.bits;
  state = {};
  return Read::kChar;
}

Read read_json(CharState& state, std::uint8_t byte, char32_t& c) {
  if (is_escape(state)) return read_escape(state, byte, c);
  if (state.phase == Phase::kNone) {
    if (byte == '"') return Read::kQuote;
    if (byte < 0x20) return Read::kBad;
    if (byte == '\\') {
      state = {.phase = Phase::kBackslash};
      return Read::kPartial;
    }
  }
  return read_utf8(state, byte, c);
}

bool is_needless_escape(const CharState& before, char32_t c) {
  return is_escape(before) && std::any_of(kPlain.begin(), kPlain.end(), [&](const auto& plain) {
           return plain.first <= c && c <= plain.last;
         });
}

CodeRanges possible_chars(const CharState& state, Escapes escapes) {
  CodeRanges ranges;
  switch (state.phase) {
    case Phase::kUtf8:
      add_utf8(ranges, state);
      break;
    case Phase::kHex:
      add_hex(ranges, state);
      break;
    case Phase::kHighDone:
    case Phase::kHighSlash: {
      const char32_t base = 0x10000 + ((state.bits - kHighFirst) << 10);
      ranges.add(base, base + 0x3FF);
      break;
    }
    case Phase::kLowHex:
      add_low_hex(ranges, state);
      break;
    default:  // \u can spell every code point
      add_scalars(ranges, 0, CodePoints::kLast);
      break;
  }
  if (escapes == Escapes::kNeeded && is_escape(state)) return without_plain(ranges);
  return ranges;
}

std::int64_t char_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::int64_t>(decode_utf8(text.substr(at)).code) : -1;
}

std::int64_t char_at(std::u32string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::int64_t>(text[at]) : -1;
}

}  // namespace ingot::match
