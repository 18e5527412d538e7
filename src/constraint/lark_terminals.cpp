// Strings and expressions of Lark: each token has one form in GBNF.
#include "constraint/lark_terminals.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

namespace ingot {

namespace {

using lark::is_digit;
using lark::is_letter;
using lark::is_lower;
using lark::is_name_byte;
using lark::is_upper;

bool is_punctuation(char c) { return c > ' ' && c < '\x7f' && !is_letter(c) && !is_digit(c); }

/// Terminals of Lark's library `common`, as GBNF.
constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kCommon{{
    {"LF", R"("\n")"},
    {"CR", R"("\r")"},
    {"NEWLINE", R"(("\r"? "\n")+)"},
    {"WS", R"([ \t\x0c\r\n]+)"},
    {"WS_INLINE", R"([ \t]+)"},
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]? [0-9]+"},
    {"DECIMAL", R"([0-9]+ "." [0-9]* | "." [0-9]+)"},
    {"FLOAT",
     R"([0-9]+ [eE] [+-]? [0-9]+ | ([0-9]+ "." [0-9]* | "." [0-9]+) ([eE] [+-]? [0-9]+)?)"},
    {"SIGNED_FLOAT", R"([+-]? ([0-9]+ [eE] [+-]? [0-9]+ | )"
                     R"(([0-9]+ "." [0-9]* | "." [0-9]+) ([eE] [+-]? [0-9]+)?))"},
    {"NUMBER", R"(([0-9]+ ("." [0-9]*)? | "." [0-9]+) ([eE] [+-]? [0-9]+)?)"},
    {"SIGNED_NUMBER", R"([+-]? ([0-9]+ ("." [0-9]*)? | "." [0-9]+) ([eE] [+-]? [0-9]+)?)"},
    {"ESCAPED_STRING", R"("\"" ([^"\\\n] | "\\" [^\n])* "\"")"},
    {"LETTER", "[a-zA-Z]"},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[a-zA-Z_] [a-zA-Z0-9_]*"},
    {"SH_COMMENT", R"("#" [^\n]*)"},
    {"CPP_COMMENT", R"("//" [^\n]*)"},
    {"SQL_COMMENT", R"("--" [^\n]*)"},
    {"C_COMMENT", R"("/*" ([^*] | "*"+ [^*/])* "*"+ "/")"},
    {"_EXP", R"([eE] [+-]? [0-9]+)"},
}};

char other_case(char c) {
  if (!is_letter(c)) return c;
  return static_cast<char>(static_cast<unsigned char>(c) ^ 0x20U);
}

/// Returns GBNF for a character in any case.
std::string any_case(const LarkScanner& scanner, char c) {
  if (static_cast<unsigned char>(c) >= 0x80U) {
    scanner.refuse("the flag i is supported for ASCII alone");
  }
  const std::string character(1, c);
  if (!is_letter(c)) return cat(" \"", c == '"' || c == '\\' ? "\\" : "", character, "\"");
  return cat(" [", character, std::string(1, other_case(c)), "]");
}

/// Takes a string with its quotes. Its escapes are the same in GBNF.
std::string take_quoted(LarkScanner& scanner) {
  std::string quoted(1, scanner.next());
  for (;;) {
    if (scanner.is_end() || scanner.peek() == '\n') scanner.refuse("a string has no end");
    const char c = scanner.next();
    quoted += c;
    if (c == '"') return quoted;
    if (c != '\\') continue;
    const char escaped = scanner.peek();
    if (scanner.is_end() || std::string_view("ntrxu\\\"").find(escaped) == std::string_view::npos) {
      scanner.refuse("only \\n, \\t, \\r, \\x, \\u, \\\\ and \\\" are supported in strings");
    }
    quoted += scanner.next();
  }
}

/// What a class escape such as \d or \D stands for.
struct ClassEscape {
  std::string_view inside{};   ///< characters of ASCII; empty: it is no class escape
  std::string_view further{};  ///< what the negated class has to leave out besides
};

constexpr std::string_view kOutsideAscii = "\\x80-\\U0010FFFF";

ClassEscape class_of(char c) {
  switch (c) {
    case 'd':
    case 'D':
      return {"0-9", kOutsideAscii};
    case 'w':
    case 'W':
      return {"a-zA-Z0-9_", kOutsideAscii};
    case 's':
    case 'S':
      // White space of Python's re and of Unicode.
      return {" \\t\\n\\r\\x0b\\x0c",
              "\\x1c-\\x1f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"};
    default:
      return {};
  }
}

/// Letters outside ASCII that are the same in any case as i, s and k.
constexpr std::string_view kOtherCases = "\\u0130\\u0131\\u017f\\u212a";

/// Reads what stands between the two '/' of an expression.
class ExpressionReader {
 public:
  /// `in` ends where the expression ends.
  ExpressionReader(LarkScanner in, std::string_view flags)
      : in_(in),
        has_any_case_(flags.find('i') != std::string_view::npos),
        dot_has_lines_(flags.find('s') != std::string_view::npos) {}

  LarkExpression read() {
    while (!in_.is_end()) read_part();
    if (out_.empty()) in_.refuse("an expression is empty");
    return {cat("(", out_, ")"), is_lazy_};
  }

 private:
  void read_part() {
    const char c = in_.next();
    if (c == '(') {
      open_group();
    } else if (c == ')') {
      out_ += ")";
    } else if (c == '|') {
      out_ += " |";
    } else if (c == '*' || c == '+' || c == '?') {
      out_ += c;
      end_quantifier();
    } else if (c == '{') {
      read_counts();
    } else if (c == '[') {
      read_class();
    } else if (c == '.') {
      out_ += dot_has_lines_ ? " [\\x00-\\U0010FFFF]" : " [^\\n]";
    } else if (c == '^' || c == '$') {
      in_.refuse("assertions are not supported");
    } else if (c == '\\') {
      read_escape();
    } else {
      read_character(c);
    }
  }

  void open_group() {
    if (in_.peek() == '?') {
      if (in_.peek(1) != ':') in_.refuse("assertions and flags of groups are not supported");
      in_.next();
      in_.next();
    }
    out_ += " (";
  }

  void read_counts() {
    out_ += cat("{", in_.take_digits());
    if (in_.take(',')) out_ += is_digit(in_.peek()) ? cat(",", in_.take_digits()) : ",";
    if (!in_.take('}')) in_.refuse("expected '}' behind a count");
    out_ += '}';
    end_quantifier();
  }
  void end_quantifier() {
    if (in_.take('?')) is_lazy_ = true;
    if (in_.peek() == '+') in_.refuse("possessive quantifiers are not supported");
  }

  void read_character(char first) {
    if (has_any_case_) {
      out_ += any_case(in_, first);
      return;
    }
    std::string character(1, first);
    while ((static_cast<unsigned char>(in_.peek()) & 0xC0U) == 0x80U) character += in_.next();
    out_ += cat(" \"", first == '"' ? "\\" : "", character, "\"");
  }

  /// Takes an escape of one character behind its backslash, in the form that GBNF has for it.
  std::string take_escape() {
    const char c = in_.peek();
    const bool is_code = c == 'x' || c == 'u';
    const bool is_known =
        !in_.is_end() && (is_punctuation(c) || is_code ||
                          std::string_view("ntrfv").find(c) != std::string_view::npos);
    if (!is_known) in_.refuse("an escape of an expression is not supported");
    if (is_code && has_any_case_) in_.refuse("\\x and \\u are not supported beside the flag i");
    in_.next();
    if (c == 'f' || c == 'v') return c == 'f' ? "\\x0c" : "\\x0b";
    std::string escape = c == '/' ? "/" : cat("\\", std::string(1, c));
    for (int digits = c == 'x' ? 2 : c == 'u' ? 4 : 0; digits > 0 && !in_.is_end(); --digits) {
      escape += in_.next();
    }
    return escape;
  }

  void read_escape() {
    const char c = in_.peek();
    const ClassEscape escape = class_of(c);
    if (escape.inside.empty()) {
      out_ += cat(" \"", take_escape(), "\"");
      return;
    }
    in_.next();
    out_ += is_upper(c) ? cat(" [^", escape.inside, escape.further, "]")
                        : cat(" [", escape.inside, "]");
  }

  void read_class() {
    out_ += " [";
    const bool is_negated = in_.take('^');
    if (is_negated) out_ += '^';
    if (in_.peek() == ']') in_.refuse("a class is empty");
    while (!in_.take(']')) {
      if (in_.is_end()) in_.refuse("a class has no end");
      read_class_part(in_.next(), is_negated);
    }
    if (is_negated && has_any_case_) out_ += kOtherCases;
    out_ += ']';
  }

  void read_class_part(char c, bool is_negated) {
    const ClassEscape escape = c == '\\' ? class_of(in_.peek()) : ClassEscape{};
    if (!escape.inside.empty()) {
      if (is_upper(in_.peek())) in_.refuse("a class cannot have \\D, \\W or \\S");
      in_.next();
      out_ += escape.inside;
      if (is_negated) out_ += escape.further;
    } else if (c == '\\') {
      out_ += take_escape();
    } else if (has_any_case_) {
      write_any_case_in_class(c);
    } else {
      if (c == '[') out_ += '\\';
      out_ += c;
    }
  }

  /// Writes a character or a range of a class, in both cases.
  void write_any_case_in_class(char c) {
    if (static_cast<unsigned char>(c) >= 0x80U) {
      in_.refuse("the flag i is supported for ASCII alone");
    }
    const char last = in_.peek(1);
    const bool is_range = in_.peek() == '-' && last != ']' && !(is_digit(c) && is_digit(last));
    if (is_range) {
      const bool same_case = (is_lower(c) && is_lower(last)) || (is_upper(c) && is_upper(last));
      if (!same_case) in_.refuse("beside the flag i, a range must have letters of one case");
      in_.next();
      in_.next();
      out_ += cat(std::string(1, c), "-", std::string(1, last));
      out_ += cat(std::string(1, other_case(c)), "-", std::string(1, other_case(last)));
      return;
    }
    if (c == '[') out_ += '\\';
    out_ += c;
    if (is_letter(c)) out_ += other_case(c);
  }

  LarkScanner in_;
  std::string out_;
  bool has_any_case_;
  bool dot_has_lines_;
  bool is_lazy_ = false;
};

}  // namespace

std::string_view lark_common(std::string_view name) {
  const auto found = std::find_if(kCommon.begin(), kCommon.end(),
                                  [&](const auto& known) { return known.first == name; });
  return found == kCommon.end() ? std::string_view() : found->second;
}

std::string take_lark_string(LarkScanner& scanner) {
  const std::string low = take_quoted(scanner);
  if (scanner.take('i')) {
    if (low.find('\\') != std::string::npos) {
      scanner.refuse("escapes in a string with the flag i are not supported");
    }
    std::string out = "(";
    for (const char c : std::string_view(low).substr(1, low.size() - 2)) {
      out += any_case(scanner, c);
    }
    return out + ")";
  }
  if (is_letter(scanner.peek())) scanner.refuse("this flag of a string is not supported");
  if (scanner.peek() != '.' || scanner.peek(1) != '.') return low;
  scanner.next();
  scanner.next();
  if (scanner.peek() != '"') scanner.refuse("expected a string behind '..'");
  const std::string high = take_quoted(scanner);
  const bool are_letters = low.size() == 3 && high.size() == 3 && is_name_byte(low[1]) &&
                           is_name_byte(high[1]) && low[1] <= high[1];
  if (!are_letters) scanner.refuse("a range must have two letters or digits");
  return cat("[", low.substr(1, 1), "-", high.substr(1, 1), "]");
}

LarkExpression take_lark_expression(LarkScanner& scanner) {
  scanner.next();
  const std::size_t begin = scanner.at();
  // A '/' ends the expression, in a class too, unless it has a backslash.
  while (!scanner.is_end() && scanner.peek() != '/' && scanner.peek() != '\n') {
    if (scanner.next() == '\\' && !scanner.is_end() && scanner.peek() != '\n') scanner.next();
  }
  const std::size_t end = scanner.at();
  if (!scanner.take('/')) scanner.refuse("an expression has no end");
  std::string flags;
  while (is_letter(scanner.peek())) flags += scanner.next();
  if (flags.find_first_not_of("imsu") != std::string::npos) {
    scanner.refuse("only the flags i, m, s and u of expressions are supported");
  }
  return ExpressionReader(LarkScanner(scanner.text().substr(0, end), begin), flags).read();
}

}  // namespace ingot
