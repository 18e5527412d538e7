// LarkScanner: reads a grammar in Lark's notation, and knows the line it is at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace ingot {

/// Kinds of bytes in Lark's notation.
namespace lark {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }         ///< 0-9
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }         ///< a-z
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }         ///< A-Z
inline bool is_letter(char c) { return is_lower(c) || is_upper(c); }  ///< a letter of ASCII
inline bool is_name_byte(char c) { return is_letter(c) || is_digit(c) || c == '_'; }  ///< in a name

}  // namespace lark

/// A place in a text. `text` outlives it.
class LarkScanner {
 public:
  explicit LarkScanner(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }
  void move_to(std::size_t at) { at_ = at; }
  bool is_end() const { return at_ >= text_.size(); }
  std::string_view text() const { return text_; }

  /// The byte `ahead` of this place; 0 behind the end.
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  /// Takes a byte. The text may not be at its end.
  char next() { return text_[at_++]; }
  bool take(char c) {
    if (is_end() || peek() != c) return false;
    ++at_;
    return true;
  }

  /// Skips white space and comments; line breaks too if `lines`. Returns whether text follows.
  bool skip_blank(bool lines) {
    while (!is_end()) {
      const char c = peek();
      if (c == '#' || (c == '/' && peek(1) == '/')) {
        while (!is_end() && peek() != '\n') ++at_;
      } else if (c == '\\' && peek(1) == '\n') {
        at_ += 2;
      } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  /// Errors: refuse, as take_digits.
  std::string take_name() {
    std::string name;
    while (!is_end() && lark::is_name_byte(peek())) name += next();
    if (name.empty()) refuse("expected a name");
    return name;
  }
  std::string take_digits() {
    std::string digits;
    while (lark::is_digit(peek())) digits += next();
    if (digits.empty()) refuse("expected a count");
    return digits;
  }

  /// The number of this line. The first is 1. Counts on from the place of the last call.
  std::ptrdiff_t line() const {
    const std::size_t here = std::min(at_, text_.size());
    if (here < counted_) {
      counted_ = 0;
      lines_ = 0;
    }
    const std::string_view passed = text_.substr(counted_, here - counted_);
    lines_ += std::count(passed.begin(), passed.end(), '\n');
    counted_ = here;
    return 1 + lines_;
  }
  /// Throws Error{kInvalid} with the line.
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(ErrorCode::kInvalid, cat("line ", line(), ": ", what));
  }

 private:
  std::string_view text_;
  std::size_t at_;
  mutable std::size_t counted_ = 0;  ///< bytes whose line breaks are in `lines_`
  mutable std::ptrdiff_t lines_ = 0;
};

}  // namespace ingot
