// Lexer: reads the text up to a tag, then the tag's tokens, and so on.
#include "text/jinja/lexer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "text/jinja/literal.h"
#include "text/unicode/unicode_text.h"

namespace ingot::jinja {

namespace {

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// The begin of a tag: the kind of bracket, and a '-' or '+' behind it.
struct TagBegin {
  std::size_t at = 0;
  char bracket = 0;  ///< '{', '%' or '#'
  char sign = 0;
};

class Lexer {
 public:
  explicit Lexer(Tokens& out) : out_(out), source_(out.source) {}

  void run() {
    TagBegin tag;
    while (find_tag(tag)) {
      text_before(tag);
      at_ = tag.at + (tag.sign != 0 ? 3 : 2);
      if (tag.bracket == '#') {
        comment(tag);
      } else if (tag.bracket == '%' && raw(tag)) {
        continue;
      } else {
        inside(tag);
      }
    }
    push_text(source_.substr(at_), at_);
    push(TokenKind::kEnd, {}, source_.size());
  }

 private:
  [[noreturn]] static void fail(std::string message, std::size_t at) {
    throw SyntaxError{std::move(message), at};
  }

  void push(TokenKind kind, std::string_view text, std::size_t at) {
    out_.tokens.push_back({.kind = kind, .text = text, .at = at});
  }

  void push_text(std::string_view text, std::size_t at) {
    if (!text.empty()) push(TokenKind::kText, text, at);
  }

  char sign_at(std::size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+') ? source_[at] : '\0';
  }

  bool find_tag(TagBegin& tag) const {
    for (std::size_t at = source_.find('{', at_); at != std::string_view::npos;
         at = source_.find('{', at + 1)) {
      const char next = at + 1 < source_.size() ? source_[at + 1] : '\0';
      if (next != '{' && next != '%' && next != '#') continue;
      tag = {.at = at, .bracket = next, .sign = sign_at(at + 2)};
      return true;
    }
    return false;
  }

  /// `text` up to a tag, without the white space that the tag strips.
  std::string_view trimmed(std::string_view text, char sign, bool strips_line) const {
    if (sign == '-') return text.substr(0, text.size() - trailing_space(text));
    if (sign == '+' || !strips_line) return text;
    const std::size_t line = text.rfind('\n') + 1;  // 0 without a line break
    if (line == 0 && !line_starts_) return text;
    return trailing_space(text) >= text.size() - line ? text.substr(0, line) : text;
  }

  void text_before(const TagBegin& tag) {
    const std::string_view text = source_.substr(at_, tag.at - at_);
    push_text(trimmed(text, tag.sign, tag.bracket != '{'), at_);
  }

  /// Steps over the end of a tag (`size` bytes) and the white space that it strips.
  void end_tag(std::size_t size, char sign, bool trims_line) {
    at_ += size;
    if (sign == '-') {
      at_ += leading_space(source_.substr(at_));
    } else if (sign != '+' && trims_line && at_ < source_.size() && source_[at_] == '\n') {
      ++at_;
    }
    line_starts_ = source_[at_ - 1] == '\n';
  }

  void comment(const TagBegin& tag) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) fail("missing end of comment tag", tag.at);
    const char sign = end > at_ ? sign_at(end - 1) : '\0';
    at_ = end;
    end_tag(2, sign, true);
  }

  void skip_space() { at_ += leading_space(source_.substr(at_)); }

  /// Steps over `word` and the end of its tag; false if other tokens follow.
  bool tag_of_word(std::string_view word, bool trims_line) {
    const std::size_t before = at_;
    skip_space();
    if (source_.substr(at_).starts_with(word)) {
      at_ += word.size();
      skip_space();
      const char sign = sign_at(at_);
      if (sign != 0) ++at_;
      if (source_.substr(at_).starts_with("%}") && (trims_line || sign != '+')) {
        end_tag(2, sign, trims_line);
        return true;
      }
    }
    at_ = before;
    return false;
  }

  /// Reads a whole raw block; false if the current tag does not begin a raw block.
  bool raw(const TagBegin& tag) {
    if (!tag_of_word("raw", false)) return false;
    const std::size_t begin = at_;
    for (std::size_t end = source_.find("{%", begin); end != std::string_view::npos;
         end = source_.find("{%", end + 1)) {
      const char sign = sign_at(end + 2);
      at_ = end + (sign != 0 ? 3 : 2);
      const bool line_starts = line_starts_;
      if (tag_of_word("endraw", true)) {
        const bool after = std::exchange(line_starts_, line_starts);
        push_text(trimmed(source_.substr(begin, end - begin), sign, true), begin);
        line_starts_ = after;
        return true;
      }
    }
    fail("missing end of raw block", tag.at);
  }

  void inside(const TagBegin& tag) {
    const bool is_block = tag.bracket == '%';
    push(is_block ? TokenKind::kBlockBegin : TokenKind::kPrintBegin, {}, tag.at);
    brackets_.clear();
    for (;;) {
      skip_space();
      if (at_ >= source_.size()) fail("the tag is not closed", tag.at);
      if (brackets_.empty() && tag_end(is_block)) return;
      token();
    }
  }

  bool tag_end(bool is_block) {
    const std::string_view end = is_block ? "%}" : "}}";
    const char sign = sign_at(at_);
    if (sign == '+' && !is_block) return false;
    const std::size_t signs = sign != 0 ? 1 : 0;
    if (!source_.substr(at_ + signs).starts_with(end)) return false;
    push(is_block ? TokenKind::kBlockEnd : TokenKind::kPrintEnd, {}, at_);
    end_tag(2 + signs, sign, is_block);
    return true;
  }

  void token() {
    const char c = source_[at_];
    if (is_name_start(c)) {
      const std::size_t begin = at_;
      while (at_ < source_.size() && (is_name_start(source_[at_]) || is_digit(source_[at_]))) ++at_;
      push(TokenKind::kName, source_.substr(begin, at_ - begin), begin);
    } else if (is_digit(c)) {
      number();
    } else if (c == '"' || c == '\'') {
      string(c);
    } else {
      operation();
    }
  }

  void number() {
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const auto number = parse_number(source_.substr(at_), after_dot);
    if (!number) fail("a number beyond 64 bits", at_);
    out_.tokens.push_back({.kind = number->is_float ? TokenKind::kFloat : TokenKind::kInt,
                           .text = source_.substr(at_, number->size),
                           .at = at_,
                           .integer = number->integer,
                           .real = number->real});
    at_ += number->size;
  }

  void string(char quote) {
    const std::size_t begin = at_ + 1;
    std::size_t end = begin;
    while (end < source_.size() && source_[end] != quote) {
      end += source_[end] == '\\' ? std::size_t{2} : std::size_t{1};
    }
    if (end >= source_.size()) fail("the string is not closed", at_);
    auto text = unescape(source_.substr(begin, end - begin));
    if (!text) fail("an escape in this string is malformed, or names no character", at_);
    push(TokenKind::kString, out_.strings.emplace_back(std::move(*text)), at_);
    at_ = end + 1;
  }

  void operation() {
    constexpr std::string_view kPairs[] = {"//", "**", "==", "!=", ">=", "<="};
    const std::string_view pair = source_.substr(at_, 2);
    const bool is_pair = std::find(std::begin(kPairs), std::end(kPairs), pair) != std::end(kPairs);
    const std::string_view text = pair.substr(0, is_pair ? 2 : 1);
    if (!is_pair && std::string_view("+-/*%~[](){}<>=.:|,;").find(text) == std::string_view::npos) {
      fail(cat("unexpected character '", printable(source_.substr(at_, 1)), "'"), at_);
    }
    balance(text[0]);
    push(TokenKind::kOperator, text, at_);
    at_ += text.size();
  }

  void balance(char c) {
    constexpr std::string_view kOpen = "([{";
    constexpr std::string_view kClose = ")]}";
    if (const std::size_t i = kOpen.find(c); i != std::string_view::npos) {
      brackets_ += kClose[i];
    } else if (kClose.find(c) != std::string_view::npos) {
      if (brackets_.empty()) fail(cat("unexpected '", c, "'"), at_);
      if (brackets_.back() != c) {
        fail(cat("unexpected '", c, "', expected '", brackets_.back(), "'"), at_);
      }
      brackets_.pop_back();
    }
  }

  Tokens& out_;
  std::string_view source_;
  std::size_t at_ = 0;
  bool line_starts_ = true;  // whether the current text starts a line
  std::string brackets_;     // closing brackets that are still expected
};

}  // namespace

std::string normal_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

void tokenize(std::string_view source, Tokens& out) {
  if (source.size() > kTemplateBytesMax) {
    throw SyntaxError{cat("the template has ", source.size(), " bytes, at most ", kTemplateBytesMax,
                          " are accepted"),
                      0};
  }
  out.source = normal_lines(source);
  Lexer(out).run();
}

std::string place_of(std::string_view source, std::size_t at) {
  const std::string_view before = source.substr(0, at);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::string_view line = before.substr(before.rfind('\n') + 1);
  return cat("line ", lines + 1, ", column ", count_characters(line) + 1);
}

}  // namespace ingot::jinja
