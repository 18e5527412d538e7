// translate_lark: scans a grammar once, and again if texts are ignored before its terminals.
#include "constraint/lark.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "constraint/gbnf.h"
#include "constraint/lark_ignored.h"
#include "constraint/lark_matches.h"
#include "constraint/lark_scanner.h"
#include "constraint/lark_terminals.h"

namespace ingot {

namespace {

/// The GBNF rule for a name of Lark.
std::string rule_of(std::string_view name) { return cat("l-", name); }

std::string joined(const std::vector<std::string>& alternatives) {
  std::string out = alternatives.front();
  for (std::size_t i = 1; i < alternatives.size(); ++i) out += cat(" |", alternatives[i]);
  return out;
}

/// Writes `a: b | a c` as `b c*`: a grammar without left recursion for the same texts.
std::string without_left_recursion(const std::string& name,
                                   const std::vector<std::string>& alternatives) {
  std::vector<std::string> first, next;
  const std::string begin = cat(name, " ");
  for (const std::string& text : alternatives) {
    if (text == name) continue;
    const bool recurs = text.starts_with(begin);
    (recurs ? next : first).push_back(recurs ? text.substr(name.size()) : text);
  }
  if (next.empty() || first.empty()) return joined(alternatives);
  return cat(" (", joined(first), ") (", joined(next), ")*");
}

class LarkTranslator {
 public:
  LarkTranslator(std::string_view text, CompileBudget& budget)
      : text_(text), budget_(budget), in_(text) {}

  LarkTranslation translate() {
    read_statements();
    CodePoints behind_ignored;
    std::string begin = "root ::= l-start";
    if (!ignored_.empty()) {
      behind_ignored = plan_lark_ignored(ignored_, out_, budget_);
      begin = write_ignored();
      // Ignored texts stand before each terminal of the rules, and at the end.
      has_ignored_ = true;
      read_statements();
    }
    LarkTranslation made{.gbnf = cat(begin, out_, "\n")};
    const std::string early = find_early_end(made.gbnf, behind_ignored, budget_);
    if (!early.empty()) {
      made.notes.push_back(
          cat("Lark takes the longest text of ", label_of(early), ", here it may end earlier"));
    }
    if (lazy_line_ > 0) {
      made.notes.push_back(
          cat("line ", lazy_line_, ": a quantifier with ? may take more than it has to"));
    }
    return made;
  }

 private:
  void read_statements() {
    out_.clear();
    line_of_.clear();
    expressions_.clear();
    in_.move_to(0);
    budget_.spend(text_.size());
    while (in_.skip_blank(true)) read_statement();
    out_ += expressions_;
  }

  /// Returns the rule `root` and the rules of ignored texts.
  std::string write_ignored() const {
    std::vector<std::string> inside, last;
    for (const LarkIgnored& ignored : ignored_) {
      if (ignored.next.empty()) {
        inside.push_back(ignored.gbnf);
      } else {
        inside.push_back(cat(" (", ignored.gbnf, ") ", ignored.next));
        last.push_back(ignored.gbnf);
      }
    }
    const std::string end = last.empty() ? "" : cat("\nignored-end ::=", joined(last));
    return cat("root ::= l-start ignored", last.empty() ? "" : " ignored-end?", "\nignored ::= (",
               joined(inside), ")*", end);
  }

  /// What a user calls a rule that find_early_end found.
  std::string label_of(const std::string& rule) const {
    if (rule == "ignored") return "what %ignore names";
    const auto line = line_of_.find(rule);
    if (line != line_of_.end()) return cat("the expression in line ", line->second);
    return printable(rule.substr(2), 64);
  }

  void read_statement() {
    if (in_.peek() == '%') return read_directive();
    while (in_.peek() == '?' || in_.peek() == '!') in_.next();
    const std::string name = in_.take_name();
    if (in_.peek() == '{') in_.refuse("templates are not supported");
    if (in_.take('.')) {
      if (in_.peek() == '-' || in_.peek() == '+') in_.next();
      in_.take_name();  // a priority
    }
    in_.skip_blank(false);
    if (!in_.take(':')) in_.refuse("expected ':' behind the name of a rule");
    in_rule_ = !is_lark_terminal(rule_of(name));
    const std::vector<std::string> alternatives = read_alternatives();
    out_ += cat("\n", rule_of(name),
                " ::=", without_left_recursion(cat(" ", rule_of(name)), alternatives));
  }

  /// Reads the alternatives of a rule, to its end.
  std::vector<std::string> read_alternatives() {
    std::string before = std::exchange(out_, {});
    alternatives_.clear();
    brackets_.clear();
    while (read_item()) continue;
    if (!brackets_.empty()) in_.refuse("a group has no end");
    alternatives_.push_back(std::exchange(out_, std::move(before)));
    return std::move(alternatives_);
  }

  void read_directive() {
    in_.next();
    const std::string name = in_.take_name();
    if (name == "ignore") return read_ignore();
    if (name != "import") in_.refuse(cat("%", printable(name, 32), " is not supported"));
    in_.skip_blank(false);
    if (in_.take_name() != "common") in_.refuse("only the library common can be imported");
    if (in_.take('.')) return import_one();
    in_.skip_blank(false);
    if (!in_.take('(')) in_.refuse("expected '.' or '(' behind common");
    do {
      in_.skip_blank(true);
      const std::string imported = in_.take_name();
      import(imported, imported);
      in_.skip_blank(true);
    } while (in_.take(','));
    if (!in_.take(')')) in_.refuse("expected ')' behind the imported names");
  }

  void read_ignore() {
    in_rule_ = false;
    const std::ptrdiff_t line = in_.line();
    std::vector<std::string> alternatives = read_alternatives();
    if (has_ignored_) return;
    for (std::string& text : alternatives) {
      const bool is_new = known_ignored_.emplace(text, true).second;
      if (is_new) ignored_.push_back({.gbnf = std::move(text), .line = line});
    }
  }

  void import_one() {
    const std::string imported = in_.take_name();
    in_.skip_blank(false);
    std::string alias = imported;
    if (in_.peek() == '-' && in_.peek(1) == '>') {
      in_.next();
      in_.next();
      in_.skip_blank(false);
      alias = in_.take_name();
    }
    import(imported, alias);
  }
  void import(const std::string& name, const std::string& alias) {
    const std::string_view known = lark_common(name);
    if (known.empty()) in_.refuse(cat("common.", printable(name, 32), " is not supported"));
    out_ += cat("\n", rule_of(alias), " ::= ", known);
  }

  /// Reads a token of a rule. Returns false at the rule's end.
  bool read_item() {
    in_.skip_blank(false);
    if (in_.is_end()) return false;
    const char c = in_.peek();
    if (c == '\n') return goes_on_behind_line();
    if (lark::is_name_byte(c)) {
      read_name();
    } else if (c == '"') {
      write_terminal(take_lark_string(in_));
    } else if (c == '/') {
      read_expression();
    } else {
      read_operator(in_.next());
    }
    return true;
  }

  /// Whether the next line begins with another alternative. Then it is the next token.
  bool goes_on_behind_line() {
    const std::size_t line_end = in_.at();
    if (in_.skip_blank(true) && in_.peek() == '|') return true;
    in_.move_to(line_end);
    return false;
  }

  void read_name() {
    const std::string rule = rule_of(in_.take_name());
    if (in_.peek() == '{') in_.refuse("templates are not supported");
    if (is_lark_terminal(rule)) {
      write_terminal(rule);
    } else {
      out_ += cat(" ", rule);
    }
  }

  void read_expression() {
    const std::ptrdiff_t line = in_.line();
    const LarkExpression expression = take_lark_expression(in_);
    if (expression.is_lazy && lazy_line_ == 0) lazy_line_ = line;
    if (!in_rule_) return write_terminal(expression.gbnf);
    // As a rule of its own, find_early_end can look at it.
    const std::string name = cat("t-", line_of_.size());
    line_of_[name] = line;
    write_terminal(name);
    expressions_ += cat("\n", name, " ::= ", expression.gbnf);
  }

  /// Writes a terminal. In rules, ignored texts may stand before it.
  void write_terminal(std::string_view text) {
    out_ += has_ignored_ && in_rule_ ? cat(" (ignored ", text, ")") : cat(" ", text);
  }

  void read_operator(char c) {
    if (c == '-' && in_.take('>')) {
      in_.skip_blank(false);
      in_.take_name();  // an alias
    } else if (c == '~') {
      read_count();
    } else if (c == '|') {
      if (!brackets_.empty()) {
        out_ += " |";
      } else {
        alternatives_.push_back(std::exchange(out_, {}));
      }
    } else if (c == '(' || c == '[') {
      brackets_ += c;
      out_ += " (";
    } else if (c == ')' || c == ']') {
      close_bracket(c);
    } else if (c == '*' || c == '+' || c == '?') {
      out_ += c;
    } else {
      in_.refuse(cat("unexpected ", printable(std::string(1, c))));
    }
  }

  void close_bracket(char c) {
    const bool fits = !brackets_.empty() && brackets_.back() == (c == ')' ? '(' : '[');
    if (!fits) in_.refuse(cat("unexpected ", std::string(1, c)));
    brackets_.pop_back();
    out_ += c == ')' ? ")" : " )?";
  }

  /// Reads the count in `~ 3` or `~ 1..3`.
  void read_count() {
    in_.skip_blank(false);
    const std::string low = in_.take_digits();
    if (in_.peek() == '.' && in_.peek(1) == '.') {
      in_.next();
      in_.next();
      out_ += cat("{", low, ",", in_.take_digits(), "}");
    } else {
      out_ += cat("{", low, "}");
    }
  }

  std::string_view text_;
  CompileBudget& budget_;
  LarkScanner in_;
  std::string out_;
  std::vector<std::string> alternatives_;          ///< alternatives of the rule that is read
  std::string brackets_;                           ///< open groups
  std::string expressions_;                        ///< rules of expressions
  std::map<std::string, std::ptrdiff_t> line_of_;  ///< by the rule of an expression
  std::vector<LarkIgnored> ignored_;               ///< what `%ignore` names
  std::map<std::string, bool> known_ignored_;
  bool has_ignored_ = false;  ///< ignored texts are written
  bool in_rule_ = false;      ///< whether a rule is read, not a terminal
  std::ptrdiff_t lazy_line_ = 0;
};

}  // namespace

LarkTranslation translate_lark(std::string_view lark, CompileBudget& budget) {
  if (lark.size() > GbnfLimits::kBytesMax) {
    throw Error(ErrorCode::kInvalid,
                cat("has ", lark.size(), " bytes, possible are ", GbnfLimits::kBytesMax));
  }
  return LarkTranslator(lark, budget).translate();
}

}  // namespace ingot
