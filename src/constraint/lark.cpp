// gbnf_of_lark: scans a grammar once. Each token of Lark has one form in GBNF.
#include "constraint/lark.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "constraint/gbnf.h"

namespace ingot {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name_byte(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

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

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
char other_case(char c) {
  if (!is_letter(c)) return c;
  return static_cast<char>(static_cast<unsigned char>(c) ^ 0x20U);
}

/// Whether a name is that of a terminal: those have capital letters.
bool is_terminal(std::string_view name) {
  const std::size_t first = name.find_first_not_of('_');
  return first != std::string_view::npos && is_upper(name[first]);
}

std::string joined(const std::vector<std::string>& alternatives) {
  std::string out = alternatives.front();
  for (std::size_t i = 1; i < alternatives.size(); ++i) out += cat(" |", alternatives[i]);
  return out;
}

/// Whether each character with which a text of the language can be continued to a longer one is a
/// text of the language.
bool is_ignored_in_parts(const TextDfa& language) {
  if (language.is_empty()) return false;
  const auto is_text = [&](const CodePointRange& range) {
    char32_t next = range.first;
    for (const TextDfa::Arc& arc : language.arcs(TextDfa::start())) {
      const bool goes_on = arc.on.first <= next && next <= arc.on.last;
      if (goes_on && language.accepts(arc.to)) next = arc.on.last + 1;
    }
    return next > range.last;
  };
  std::vector<bool> is_behind(to_size(language.size()), false);
  std::vector<std::int32_t> open;
  for (std::int32_t state = 0; state < language.size(); ++state) {
    if (!language.accepts(state)) continue;
    is_behind[to_size(state)] = true;
    open.push_back(state);
  }
  while (!open.empty()) {
    const std::int32_t state = open.back();
    open.pop_back();
    for (const TextDfa::Arc& arc : language.arcs(state)) {
      if (!is_text(arc.on)) return false;
      if (is_behind[to_size(arc.to)]) continue;
      is_behind[to_size(arc.to)] = true;
      open.push_back(arc.to);
    }
  }
  return true;
}

/// Steps to look at what is ignored with.
constexpr std::uint64_t kIgnoredSteps = 100'000;

class LarkTranslator {
 public:
  explicit LarkTranslator(std::string_view text) : text_(text) {}

  std::string translate() {
    read_statements();
    if (ignored_.empty()) return cat("root ::= l-start", out_, "\n");
    // Ignored texts stand before each terminal of the rules, and at the end.
    for (const std::string& ignored : ignored_) check_ignored(ignored);
    at_ = 0;
    has_ignored_ = true;
    read_statements();
    return cat("root ::= l-start ignored\nignored ::= (", joined(ignored_), ")*", out_, "\n");
  }

 private:
  /// Lark ignores as much text as it can. A grammar may take less: this must make no difference.
  void check_ignored(const std::string& ignored) {
    CompileBudget budget(kIgnoredSteps);
    const auto language = gbnf_language(cat("root ::=", ignored, out_, "\n"), budget);
    if (!language || !is_ignored_in_parts(*language)) {
      refuse(
          "%ignore is supported for single characters, their repetitions, and texts with an end");
    }
  }

  void read_statements() {
    out_.clear();
    ignored_.clear();
    while (skip_blank(true)) read_statement();
  }

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

  std::string take_name() {
    const std::ptrdiff_t begin = at_;
    while (!is_end() && is_name_byte(peek())) ++at_;
    if (at_ == begin) refuse("expected a name");
    return std::string(
        text_.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(at_ - begin)));
  }

  void read_statement() {
    if (peek() == '%') return read_directive();
    while (peek() == '?' || peek() == '!') ++at_;
    const std::string name = take_name();
    if (peek() == '{') refuse("templates are not supported");
    if (take('.')) {
      if (peek() == '-' || peek() == '+') ++at_;
      take_name();  // a priority
    }
    skip_blank(false);
    if (!take(':')) refuse("expected ':' behind the name of a rule");
    in_rule_ = !is_terminal(name);
    const std::vector<std::string> alternatives = read_alternatives();
    out_ += cat("\nl-", name, " ::=", without_left_recursion(cat(" l-", name), alternatives));
  }

  /// Reads the alternatives of a rule, to its end.
  std::vector<std::string> read_alternatives() {
    std::string before = std::exchange(out_, {});
    alternatives_.clear();
    depth_ = 0;
    while (read_item()) continue;
    alternatives_.push_back(std::exchange(out_, std::move(before)));
    return std::move(alternatives_);
  }

  /// Writes `a: b | a c` as `b c*`: a grammar without left recursion for the same texts.
  static std::string without_left_recursion(const std::string& name,
                                            const std::vector<std::string>& alternatives) {
    std::vector<std::string> first, next;
    for (const std::string& text : alternatives) {
      if (text == name) continue;
      const bool recurs = text.starts_with(cat(name, " "));
      (recurs ? next : first).push_back(recurs ? text.substr(name.size()) : text);
    }
    if (next.empty() || first.empty()) return joined(alternatives);
    return cat(" (", joined(first), ") (", joined(next), ")*");
  }

  /// Writes a terminal. In rules, ignored texts may stand before it.
  void write_terminal(std::string_view text) {
    out_ += has_ignored_ && in_rule_ ? cat(" (ignored ", text, ")") : cat(" ", text);
  }

  void read_directive() {
    ++at_;
    const std::string name = take_name();
    if (name == "ignore") {
      in_rule_ = false;
      for (std::string& text : read_alternatives()) ignored_.push_back(std::move(text));
      return;
    }
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
      const std::string name = take_name();
      if (peek() == '{') refuse("templates are not supported");
      if (is_terminal(name)) {
        write_terminal(cat("l-", name));
      } else {
        out_ += cat(" l-", name);
      }
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
    } else if (c == '|') {
      if (depth_ > 0) {
        out_ += " |";
      } else {
        alternatives_.push_back(std::exchange(out_, {}));
      }
    } else if (c == '(' || c == '[') {
      ++depth_;
      out_ += " (";
    } else if (c == ')' || c == ']') {
      if (--depth_ < 0) refuse(cat("unexpected ", std::string(1, c)));
      out_ += c == ')' ? ")" : " )?";
    } else if (c == '*' || c == '+' || c == '?') {
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
      if (is_end() || std::string_view("ntrxu\\\"").find(escaped) == std::string_view::npos) {
        refuse("only \\n, \\t, \\r, \\x, \\u, \\\\ and \\\" are supported in strings");
      }
      quoted += escaped;
      ++at_;
    }
  }

  /// Returns GBNF for a quoted string in any case.
  std::string any_case(std::string_view quoted) const {
    if (quoted.find('\\') != std::string_view::npos) {
      refuse("escapes in a string with the flag i are not supported");
    }
    std::string out = "(";
    for (const char c : quoted.substr(1, quoted.size() - 2)) out += any_case(c);
    return out + ")";
  }
  std::string any_case(char c) const {
    if (static_cast<unsigned char>(c) >= 0x80U) {
      refuse("the flag i is supported for ASCII alone");
    }
    if (!is_letter(c))
      return cat(" \"", c == '"' || c == '\\' ? "\\" : "", std::string(1, c), "\"");
    return cat(" [", std::string(1, c), std::string(1, other_case(c)), "]");
  }

  bool read_string() {
    const std::string low = take_string();
    if (take('i')) {
      write_terminal(any_case(low));
      return true;
    }
    if (is_letter(peek())) refuse("this flag of a string is not supported");
    if (peek() != '.' || peek(1) != '.') {
      write_terminal(low);
      return true;
    }
    at_ += 2;
    if (peek() != '"') refuse("expected a string behind '..'");
    const std::string high = take_string();
    const bool are_letters = low.size() == 3 && high.size() == 3 && is_name_byte(low[1]) &&
                             is_name_byte(high[1]) && low[1] <= high[1];
    if (!are_letters) refuse("a range must have two letters or digits");
    write_terminal(cat("[", low.substr(1, 1), "-", high.substr(1, 1), "]"));
    return true;
  }

  /// Returns the flags of the expression that begins here. A '/' in it has a backslash.
  std::string_view flags_ahead() const {
    std::size_t at = static_cast<std::size_t>(at_);
    while (at < text_.size() && text_[at] != '/' && text_[at] != '\n') {
      at += text_[at] == '\\' ? 2U : 1U;
    }
    if (at >= text_.size() || text_[at] != '/') refuse("an expression has no end");
    std::size_t end = ++at;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    return text_.substr(at, end - at);
  }

  bool read_expression() {
    ++at_;
    const std::string_view flags = flags_ahead();
    if (flags.find_first_not_of("imsu") != std::string_view::npos) {
      refuse("only the flags i, m, s and u of expressions are supported");
    }
    has_any_case_ = flags.find('i') != std::string_view::npos;
    dot_has_lines_ = flags.find('s') != std::string_view::npos;
    std::string before = std::exchange(out_, {});
    while (!take('/')) {
      if (is_end() || peek() == '\n') refuse("an expression has no end");
      read_expression_part();
    }
    const std::string expression = std::exchange(out_, std::move(before));
    if (expression.empty()) refuse("an expression is empty");
    at_ += std::ssize(flags);
    write_terminal(cat("(", expression, ")"));
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
      out_ += dot_has_lines_ ? " [\\x00-\\U0010FFFF]" : " [^\\n]";
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
    if (has_any_case_) {
      out_ += any_case(character[0]);
      return;
    }
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
    if (!is_end() && (c == 'f' || c == 'v')) {
      ++at_;
      return c == 'f' ? "\\x0c" : "\\x0b";
    }
    if (!is_end() && (c == 'x' || c == 'u')) {
      if (has_any_case_) refuse("\\x and \\u are not supported beside the flag i");
      ++at_;
      return cat("\\", std::string(1, c));  // its digits follow
    }
    const bool is_known = !is_end() && (is_punctuation(c) || c == 'n' || c == 't' || c == 'r');
    if (!is_known) refuse("an escape of an expression is not supported");
    ++at_;
    return c == '/' ? "/" : cat("\\", std::string(1, c));
  }

  void read_escape() {
    const char c = peek();
    const std::string_view inside = class_of(c);
    if (inside.empty()) {
      std::string escape = take_escape();
      const std::size_t digits = escape == "\\x" ? 2 : escape == "\\u" ? 4 : 0;
      for (std::size_t i = 0; i < digits && !is_end(); ++i) {
        escape += text_[static_cast<std::size_t>(at_++)];
      }
      out_ += cat(" \"", escape, "\"");
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
      } else if (has_any_case_) {
        write_any_case_in_class(c);
      } else {
        if (c == '[') out_ += '\\';
        out_ += c;
      }
    }
    out_ += ']';
  }

  /// Writes a character or a range of a class, in both cases.
  void write_any_case_in_class(char c) {
    if (static_cast<unsigned char>(c) >= 0x80U) refuse("the flag i is supported for ASCII alone");
    const bool is_range = peek() == '-' && peek(1) != ']' && is_letter(c);
    if (is_range) {
      const char last = peek(1);
      const bool same_case = (is_lower(c) && is_lower(last)) || (is_upper(c) && is_upper(last));
      if (!same_case) refuse("beside the flag i, a range must have letters of one case");
      at_ += 2;
      out_ += cat(std::string(1, c), "-", std::string(1, last));
      out_ += cat(std::string(1, other_case(c)), "-", std::string(1, other_case(last)));
      return;
    }
    const bool is_other_range = peek() == '-' && peek(1) != ']';
    if (is_other_range && !(is_digit(c) && is_digit(peek(1)))) {
      refuse("beside the flag i, a range must have letters of one case");
    }
    if (c == '[') out_ += '\\';
    out_ += c;
    if (is_letter(c)) out_ += other_case(c);
  }

  std::string_view text_;
  std::ptrdiff_t at_ = 0;
  std::string out_;
  std::vector<std::string> alternatives_;  ///< alternatives of the rule that is read
  std::vector<std::string> ignored_;       ///< what `%ignore` names
  bool has_ignored_ = false;               ///< ignored texts are written
  bool in_rule_ = false;                   ///< whether a rule is read, not a terminal
  std::int32_t depth_ = 0;                 ///< open groups
  bool has_any_case_ = false;              ///< the expression has the flag i
  bool dot_has_lines_ = false;             ///< the expression has the flag s
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
