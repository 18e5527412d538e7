// Translates a regular expression from Oniguruma's to PCRE2's syntax in one pass.
#include "text/pretokenize/regex_syntax.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace ingot {
namespace {

/// White_Space and its complement. PCRE2's \s has U+180E besides.
constexpr std::string_view kSpaces =
    R"(\t-\r\x20\x85\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNotSpaces =
    R"(\x00-\x08\x0E-\x1F\x21-\x84\x86-\x9F\xA1-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";
/// Alphabetic, marks, decimal numbers and connecting punctuation. PCRE2's \w is \p{L}, \p{N} and _.
constexpr std::string_view kWords =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169})"
    R"(\x{1F170}-\x{1F189})";

/// Escapes that both libraries read alike, outside of classes and inside.
constexpr std::string_view kPlainEscapes = "dDtnrfeaAzZGKk0123456789";
constexpr std::string_view kPlainClassEscapes = "dDtnrfea01234567";
/// The group openers that may follow "(?".
constexpr std::string_view kGroups[] = {":", "=", "!", "<=", "<!", ">", "i:", "-i:"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Translator {
 public:
  Translator(std::string_view source, std::string_view file) : source_(source), file_(file) {}

  std::string run() {
    while (at_ < source_.size()) {
      if (in_class_) {
        class_item();
      } else {
        item();
      }
    }
    if (in_class_) refuse("a class without ']'");
    return std::move(out_);
  }

 private:
  void item() {
    const char c = source_[at_];
    if (c == '{') return interval();
    if (c == ')' && !groups_.empty()) {
      atom_ = groups_.back();
      groups_.pop_back();
      return copy(1);
    }
    const bool is_atom = c != '*' && c != '+' && c != '?';
    if (is_atom) atom_ = out_.size();
    if (c == '\\') return escape();
    if (c == '[') return open_class();
    if (c == '(') return open_group();
    copy(1);
  }

  void class_item() {
    const char c = source_[at_];
    if (c == '\\') return escape();
    if (c == '[') refuse("a class in a class");
    if (next_is("&&")) refuse("an intersection of classes");
    if (c == ']') in_class_ = false;
    copy(1);
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw model_error(file_, "tokenizer",
                      cat("unsupported regex '", printable(source_), "': ", what, " at ", at_));
  }
  bool next_is(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  void copy(std::size_t count) {
    out_ += source_.substr(at_, count);
    at_ += count;
  }

  void open_class() {
    copy(next_is("[^") ? 2 : 1);
    in_class_ = true;
    if (next_is("]")) refuse("an empty class or one that begins with ']'");
  }

  void open_group() {
    // Only at the start: Oniguruma reads a(?i)b|c as a(?i:b|c).
    if (at_ == 0 && next_is("(?i)")) return copy(4);
    groups_.push_back(out_.size());
    if (next_is("(*")) refuse("'(*'");
    if (!next_is("(?")) return copy(1);
    const std::string_view rest = source_.substr(at_ + 2);
    for (const std::string_view group : kGroups) {
      if (rest.starts_with(group)) return copy(2 + group.size());
    }
    refuse("a group of an unknown kind");
  }

  /// Reads {n}, {n,} or {n,m}. A + behind it repeats the whole, and does not make it possessive.
  void interval() {
    const std::size_t end = source_.find('}', at_);
    const std::string_view inside =
        end == std::string_view::npos ? "" : source_.substr(at_ + 1, end - at_ - 1);
    const auto is_bound = [](char c) { return is_digit(c) || c == ','; };
    if (inside.empty() || !is_digit(inside[0]) ||
        !std::all_of(inside.begin(), inside.end(), is_bound)) {
      refuse("'{' without bounds");
    }
    const bool fixed = inside.find(',') == std::string_view::npos;
    copy(inside.size() + 2);
    if (fixed && next_is("?")) refuse("'?' behind a fixed number of times");
    if (next_is("+")) {
      out_.insert(atom_, "(?:");
      out_ += ")+";
      ++at_;
    }
  }

  void escape() {
    if (at_ + 1 == source_.size()) refuse("'\\' at the end");
    const char c = source_[at_ + 1];
    if (c == 's' || c == 'w') return set(c == 's' ? kSpaces : kWords, false);
    if (c == 'S') return in_class_ ? set(kNotSpaces, false) : set(kSpaces, true);
    if (c == 'W' && !in_class_) return set(kWords, true);
    if (c == 'p' || c == 'P') return property();
    if (c == 'u' || c == 'x') return code_point();
    const std::string_view plain = in_class_ ? kPlainClassEscapes : kPlainEscapes;
    if ((is_letter(c) || is_digit(c)) && plain.find(c) == std::string_view::npos) {
      refuse(cat("'\\", c, "'"));
    }
    copy(2);
  }

  /// Writes a class in place of the current escape, of two characters.
  void set(std::string_view content, bool negated) {
    out_ += in_class_ ? std::string(content) : cat(negated ? "[^" : "[", content, "]");
    at_ += 2;
  }

  /// Reads \p{...}: a general category, or a script if the name is longer.
  void property() {
    const std::size_t end = source_.find('}', at_);
    if (end == std::string_view::npos || source_[at_ + 2] != '{') refuse("a property without {}");
    const bool negated = source_.substr(at_ + 3, 1) == "^";
    const std::size_t begin = at_ + (negated ? 4 : 3);
    const std::string_view name = source_.substr(begin, end - begin);
    if (name.empty() ||
        !std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || c == '_'; })) {
      refuse("a property of an unknown kind");
    }
    out_ +=
        cat(source_.substr(at_, 2), negated ? "{^" : "{", name.size() > 2 ? "sc:" : "", name, "}");
    at_ = end + 1;
  }

  /// Reads \uHHHH, \xHH or \x{H...}.
  void code_point() {
    const bool braces = source_.substr(at_).starts_with("\\x{");
    const std::size_t begin = at_ + (braces ? 3 : 2);
    const std::size_t digits = source_[at_ + 1] == 'u' ? 4 : 2;
    const std::size_t end = braces ? source_.find('}', at_) : begin + digits;
    const auto is_hex = [](char c) {
      return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    };
    if (end > source_.size() || end == begin) refuse("a code point without digits");
    const std::string_view value = source_.substr(begin, end - begin);
    if (!std::all_of(value.begin(), value.end(), is_hex)) refuse("a code point without digits");
    out_ += cat("\\x{", value, "}");
    at_ = end + (braces ? 1 : 0);
  }

  std::string_view source_;
  std::string_view file_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::size_t atom_ = 0;             // start in out_ of the last item that can be repeated
  std::vector<std::size_t> groups_;  // starts of the open groups
};

}  // namespace

std::string to_pcre2(std::string_view source, std::string_view file) {
  return Translator(source, file).run();
}

}  // namespace ingot
