// gbnf_of_lark: scans a grammar once. Each token of Lark has one form in GBNF.
#include "constraint/lark.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "constraint/gbnf.h"

namespace ingot {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name_byte(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

bool is_punctuation(char c) { return c > ' ' && c < '\x7f' && !is_letter(c) && !is_digit(c); }

/// Terminals of Lark's library `common`, as GBNF.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kCommon{{
    {"LF", R"("\n")"},
    {"CR", R"("\r")"},
    {"NEWLINE", R"(("\r"? "\n")+)"},
    {"WS", R"([ \t\x0c\r\n]+)"},
    {"WS_INLINE", R"([ \t]+)"},
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]? [0-9]+"},
    {"LETTER", "[a-zA-Z]"},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[a-zA-Z_] [a-zA-Z0-9_]*"},
}};

class LarkTranslator {
 public:
  explicit LarkTranslator(std::string_view text) : text_(text) {}

  std::string translate() {
    out_ = "root ::= l-start";
    while (skip_blank(true)) read_statement();
    out_ += '\n';
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + std::min(at_, std::ssize(text_)), '\n');
    throw Error(ErrorCode::kInvalid, cat("line ", line, ": ", what));
  }

  char peek(std::ptrdiff_t ahead = 0) const {
    const std::ptrdiff_t place = at_ + ahead;
    return place < std::ssize(text_) ? text_[static_cast<std::size_t>(place)] : '\0';
  }
  bool is_end() const { return at_ >= std::ssize(text_); }
  bool take(char c) {
    if (is_end() || peek() != c) return false;
    ++at_;
    return true;
  }

  /// Skips white space and comments; line breaks too if `lines`. Returns whether text follows.
  bool skip_blank(bool lines) {
    while (!is_end()) {
      const char c = peek();
      if (c == '/' && peek(1) == '/') {
        while (!is_end() && peek() != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  std::string take_name() {
    const std::ptrdiff_t begin = at_;
    while (!is_end() && is_name_byte(peek())) ++at_;
    if (at_ == begin) refuse("expected a name");
    return std::string(
        text_.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(at_ - begin)));
  }

  void read_statement() {
    if (peek() == '%') return read_directive();
    if (peek() == '?' || peek() == '!') ++at_;
    out_ += cat("\nl-", take_name(), " ::=");
    if (take('.')) take_name();  // a priority
    skip_blank(false);
    if (!take(':')) refuse("expected ':' behind the name of a rule");
    while (read_item()) continue;
  }

  void read_directive() {
    ++at_;
    const std::string name = take_name();
    if (name != "import") refuse(cat("%", printable(name, 32), " is not supported"));
    skip_blank(false);
    if (take_name() != "common") refuse("only the library common can be imported");
    if (take('.')) {
      const std::string imported = take_name();
      skip_blank(false);
      std::string alias = imported;
      if (peek() == '-' && peek(1) == '>') {
        at_ += 2;
        skip_blank(false);
        alias = take_name();
      }
      return import(imported, alias);
    }
    skip_blank(false);
    if (!take('(')) refuse("expected '.' or '(' behind common");
    do {
      skip_blank(true);
      const std::string imported = take_name();
      import(imported, imported);
      skip_blank(true);
    } while (take(','));
    if (!take(')')) refuse("expected ')' behind the imported names");
  }

  void import(const std::string& name, const std::string& alias) {
    const auto found = std::find_if(kCommon.begin(), kCommon.end(),
                                    [&](const auto& known) { return known.first == name; });
    if (found == kCommon.end()) refuse(cat("common.", printable(name, 32), " is not supported"));
    out_ += cat("\nl-", alias, " ::= ", found->second);
  }

  /// Reads a token of a rule. Returns false at the rule's end.
  bool read_item() {
    skip_blank(false);
    if (is_end()) return false;
    const char c = peek();
    if (c == '\n') {
      const std::ptrdiff_t line_end = at_;
      if (skip_blank(true) && peek() == '|') return true;
      at_ = line_end;
      return false;
    }
    if (is_name_byte(c)) {
      out_ += cat(" l-", take_name());
      if (peek() == '{') refuse("templates are not supported");
      return true;
    }
    if (c == '"') return read_string();
    if (c == '/') return read_expression();
    ++at_;
    if (c == '-' && take('>')) {
      skip_blank(false);
      take_name();  // an alias
    } else if (c == '~') {
      read_count();
    } else if (c == '|' || c == '(') {
      out_ += cat(" ", std::string(1, c));
    } else if (c == '[') {
      out_ += " (";
    } else if (c == ']') {
      out_ += " )?";
    } else if (c == ')' || c == '*' || c == '+' || c == '?') {
      out_ += c;
    } else {
      refuse(cat("unexpected ", printable(std::string(1, c))));
    }
    return true;
  }

  std::string take_digits() {
    std::string digits;
    for (; is_digit(peek()); ++at_) digits += peek();
    if (digits.empty()) refuse("expected a count");
    return digits;
  }

  /// Reads the count in `~ 3` or `~ 1..3`.
  void read_count() {
    skip_blank(false);
    const std::string low = take_digits();
    if (peek() == '.' && peek(1) == '.') {
      at_ += 2;
      out_ += cat("{", low, ",", take_digits(), "}");
    } else {
      out_ += cat("{", low, "}");
    }
  }

  /// Takes a string with its quotes. Its escapes are the same in GBNF.
  std::string take_string() {
    std::string quoted = "\"";
    for (++at_;;) {
      if (is_end() || peek() == '\n') refuse("a string has no end");
      const char c = text_[static_cast<std::size_t>(at_++)];
      quoted += c;
      if (c == '"') return quoted;
      if (c != '\\') continue;
      const char escaped = peek();
      if (std::string_view("ntr\\\"").find(escaped) == std::string_view::npos || is_end()) {
        refuse("only \\n, \\t, \\r, \\\\ and \\\" are supported in strings");
      }
      quoted += escaped;
      ++at_;
    }
  }

  bool read_string() {
    const std::string low = take_string();
    if (is_letter(peek())) refuse("flags of strings are not supported");
    if (peek() != '.' || peek(1) != '.') {
      out_ += cat(" ", low);
      return true;
    }
    at_ += 2;
    if (peek() != '"') refuse("expected a string behind '..'");
    const std::string high = take_string();
    const bool are_letters = low.size() == 3 && high.size() == 3 && is_name_byte(low[1]) &&
                             is_name_byte(high[1]) && low[1] <= high[1];
    if (!are_letters) refuse("a range must have two letters or digits");
    out_ += cat(" [", low.substr(1, 1), "-", high.substr(1, 1), "]");
    return true;
  }

  bool read_expression() {
    ++at_;
    out_ += " (";
    const std::size_t before = out_.size();
    while (!take('/')) {
      if (is_end() || peek() == '\n') refuse("an expression has no end");
      read_expression_part();
    }
    if (out_.size() == before) refuse("an expression is empty");
    if (is_letter(peek())) refuse("flags of expressions are not supported");
    out_ += ")";
    return true;
  }

  void read_expression_part() {
    const char c = text_[static_cast<std::size_t>(at_++)];
    if (c == '(') {
      if (peek() == '?') {
        if (peek(1) != ':') refuse("assertions and flags of groups are not supported");
        at_ += 2;
      }
      out_ += " (";
    } else if (c == ')') {
      out_ += ")";
    } else if (c == '|') {
      out_ += " |";
    } else if (c == '*' || c == '+' || c == '?') {
      out_ += c;
      end_quantifier();
    } else if (c == '{') {
      out_ += cat("{", take_digits());
      if (take(',')) out_ += is_digit(peek()) ? cat(",", take_digits()) : std::string(",");
      if (!take('}')) refuse("expected '}' behind a count");
      out_ += '}';
      end_quantifier();
    } else if (c == '[') {
      read_class();
    } else if (c == '.') {
      out_ += " [^\\n]";
    } else if (c == '^' || c == '$') {
      refuse("assertions are not supported");
    } else if (c == '\\') {
      read_escape();
    } else {
      --at_;
      read_character();
    }
  }

  /// A quantifier that takes little has the same language.
  void end_quantifier() {
    if (take('?')) return;
    if (peek() == '+') refuse("possessive quantifiers are not supported");
  }

  void read_character() {
    std::string character(1, text_[static_cast<std::size_t>(at_++)]);
    while ((static_cast<unsigned char>(peek()) & 0xC0U) == 0x80U) {
      character += text_[static_cast<std::size_t>(at_++)];
    }
    out_ += cat(" \"", character == "\"" ? "\\" : "", character, "\"");
  }

  /// The inside of a class that an escape stands for; empty if it stands for none.
  static std::string_view class_of(char c) {
    switch (c) {
      case 'd':
      case 'D':
        return "0-9";
      case 'w':
      case 'W':
        return "a-zA-Z0-9_";
      case 's':
      case 'S':
        return " \\t\\n\\r\\x0b\\x0c";
      default:
        return {};
    }
  }

  /// Takes an escape of one character, in the form that GBNF has for it.
  std::string take_escape() {
    const char c = peek();
    const bool is_known = !is_end() && (is_punctuation(c) || c == 'n' || c == 't' || c == 'r');
    if (!is_known) refuse("an escape of an expression is not supported");
    ++at_;
    return c == '/' ? "/" : cat("\\", std::string(1, c));
  }

  void read_escape() {
    const char c = peek();
    const std::string_view inside = class_of(c);
    if (inside.empty()) {
      out_ += cat(" \"", take_escape(), "\"");
      return;
    }
    ++at_;
    out_ += cat(c < 'a' ? " [^" : " [", inside, "]");
  }

  void read_class() {
    out_ += " [";
    if (take('^')) out_ += '^';
    if (peek() == ']') refuse("a class is empty");
    while (!take(']')) {
      if (is_end() || peek() == '\n') refuse("a class has no end");
      const char c = text_[static_cast<std::size_t>(at_++)];
      const std::string_view inside = c == '\\' ? class_of(peek()) : std::string_view();
      if (!inside.empty()) {
        if (peek() < 'a') refuse("a class cannot have \\D, \\W or \\S");
        ++at_;
        out_ += inside;
      } else if (c == '\\') {
        out_ += take_escape();
      } else {
        if (c == '[') out_ += '\\';
        out_ += c;
      }
    }
    out_ += ']';
  }

  std::string_view text_;
  std::ptrdiff_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string gbnf_of_lark(std::string_view lark) {
  if (lark.size() > GbnfLimits::kBytesMax) {
    throw Error(ErrorCode::kInvalid,
                cat("has ", lark.size(), " bytes, possible are ", GbnfLimits::kBytesMax));
  }
  return LarkTranslator(lark).translate();
}

}  // namespace ingot
