// CharState: reads code points from bytes, as UTF-8 or as the inside of a JSON string.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "constraint/language/code_points.h"

namespace ingot::match {

/// The part of a code point that is read.
struct CharState {
  enum class Phase : std::uint8_t {
    kNone,       ///< between code points
    kUtf8,       ///< `left` of `size` bytes are missing; `bits` are read
    kBackslash,  ///< behind a backslash
    kHex,        ///< \u with `left` digits missing; `bits` are read
    kHighDone,   ///< behind the high surrogate `bits`: a backslash must follow
    kHighSlash,  ///< behind the high surrogate `bits` and a backslash: u must follow
    kLowHex,     ///< `left` digits of a low surrogate are missing; `bits`: high << 16 | read digits
  };
  Phase phase = Phase::kNone;
  std::uint8_t left = 0;
  std::uint8_t size = 0;
  std::uint32_t bits = 0;

  bool is_between() const { return phase == Phase::kNone; }
  friend bool operator==(const CharState&, const CharState&) = default;
};

/// The effect of a byte.
enum class Read : std::uint8_t {
  kBad,      ///< it cannot follow
  kPartial,  ///< a code point has begun, but is not complete
  kChar,     ///< a code point is complete
  kQuote,    ///< it closes the string
};

/// Reads a byte of UTF-8. On kChar, `c` is the code point.
Read read_utf8(CharState& state, std::uint8_t byte, char32_t& c);
/// Reads a byte inside a JSON string. On kChar, `c` is the decoded code point.
Read read_json(CharState& state, std::uint8_t byte, char32_t& c);

/// Which characters of a JSON string may be written as escapes.
enum class Escapes : std::uint8_t {
  kAll,
  kNeeded,  ///< not the printable ones of ASCII, except the quote and the backslash
};
/// Returns whether `c`, whose last byte was read in `before`, was written as an escape that is not
/// needed.
bool is_needless_escape(const CharState& before, char32_t c);

/// Ranges of code points, at most eight.
struct CodeRanges {
  std::array<CodePointRange, 8> range{};
  std::size_t count = 0;
  void add(char32_t first, char32_t last) {
    if (first <= last) range[count++] = {first, last};
  }
  std::span<const CodePointRange> all() const { return {range.data(), count}; }
};

/// Returns the code points that the bytes read so far can still become, ascending ranges. `state`
/// is not between code points.
CodeRanges possible_chars(const CharState& state, Escapes escapes = Escapes::kAll);

/// Returns the code point of UTF-8 text at byte `at`; -1 behind the end.
std::int64_t char_at(std::string_view text, std::size_t at);
/// Returns the code point with this index; -1 behind the end.
std::int64_t char_at(std::u32string_view text, std::size_t at);

}  // namespace ingot::match
