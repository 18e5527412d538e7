// Parses GBNF texts: one pass over the characters, with a stack of the open groups.
#include "constraint/gbnf_parser.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "constraint/gbnf.h"

namespace ingot {

Error gbnf_error(std::string_view text, std::size_t offset, std::string_view reason) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  // Columns count characters: every byte that does not continue one.
  const auto column = std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start),
                                    before.end(), [](char c) { return (c & '\xC0') != '\x80'; });
  return Error(ErrorCode::kInvalid, cat("line ", lines + 1, ", column ", column + 1, ": ", reason));
}

namespace {

using Kind = GbnfPart::Kind;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

class GbnfParser {
 public:
  GbnfParser(std::string_view text, CompileBudget& budget) : text_(text), budget_(budget) {}

  GbnfRules parse() {
    if (text_.size() > GbnfLimits::kBytesMax) {
      throw Error(ErrorCode::kInvalid, cat("has ", text_.size(), " bytes; at most ",
                                           GbnfLimits::kBytesMax, " are possible"));
    }
    budget_.spend(text_.size());
    for (skip_space(true); at_ < text_.size(); skip_space(true)) parse_rule();
    for (const GbnfPart& part : out_.parts) {
      if (part.kind != Kind::kRule || out_.rules[part.rule].is_defined) continue;
      fail(part.offset, cat("the rule ", quoted(out_.rules[part.rule].name), " is not defined"));
    }
    const auto root = rules_by_name_.find("root");
    if (root == rules_by_name_.end()) {
      throw Error(ErrorCode::kInvalid, "has no rule named root, with which texts begin");
    }
    out_.root = root->second;
    return std::move(out_);
  }

 private:
  /// An open group, or the rule's body.
  struct Group {
    std::vector<std::uint32_t> alternatives{};
    std::vector<std::uint32_t> sequence{};
    std::size_t offset = 0;           ///< where the group begins
    std::size_t sequence_offset = 0;  ///< where the alternative begins
  };

  [[noreturn]] void fail(std::size_t offset, std::string_view reason) const {
    throw gbnf_error(text_, offset, reason);
  }

  static std::string quoted(std::string_view name) { return cat("'", printable(name, 64), "'"); }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool is_at(std::string_view token) const { return text_.substr(at_).starts_with(token); }

  /// Skips spaces and comments, and also line breaks if `lines`.
  void skip_space(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::uint32_t rule_index(std::string_view name) {
    const auto [found, is_new] = rules_by_name_.try_emplace(
        std::string(name), static_cast<std::uint32_t>(out_.rules.size()));
    if (is_new) {
      if (out_.rules.size() == GbnfLimits::kRulesMax) {
        fail(at_, cat("more than ", GbnfLimits::kRulesMax, " rules"));
      }
      out_.rules.push_back({.name = std::string(name)});
    }
    return found->second;
  }

  void parse_rule() {
    const std::size_t begin = at_;
    const std::string_view name = read_name();
    if (name.empty()) fail(at_, "expected the name of a rule");
    const std::uint32_t index = rule_index(name);
    if (out_.rules[index].is_defined) {
      fail(begin, cat("the rule ", quoted(name), " is defined twice"));
    }
    skip_space(false);
    if (!is_at("::=")) fail(at_, cat("expected ::= behind the name ", quoted(name)));
    at_ += 3;
    skip_space(true);
    const auto first = static_cast<std::uint32_t>(out_.parts.size());
    const std::uint32_t body = parse_body();
    GbnfRule& rule = out_.rules[index];
    rule.first = first;
    rule.body = body;
    rule.offset = begin;
    rule.is_defined = true;
  }

  std::uint32_t parse_body() {
    groups_.clear();
    groups_.push_back({.offset = at_, .sequence_offset = at_});
    while (!is_rule_end()) parse_symbol();
    if (groups_.size() > 1) fail(groups_.back().offset, "the group is not closed");
    return close_group();
  }

  /// Skips white space. Returns whether the rule ends here.
  bool is_rule_end() {
    const bool is_nested = groups_.size() > 1;
    skip_space(is_nested);
    if (at_ == text_.size()) return true;
    if (is_nested || (text_[at_] != '\n' && text_[at_] != '\r')) return false;
    skip_space(true);
    return peek() != '|';
  }

  void parse_symbol() {
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (c == '"') {
      add_literal();
    } else if (c == '[') {
      add_class();
    } else if (c == '.') {
      ++at_;
      add({.kind = Kind::kClass, .characters = CodePoints::all(), .offset = begin});
    } else if (is_name_char(c)) {
      const std::uint32_t rule = rule_index(read_name());
      add({.kind = Kind::kRule, .rule = rule, .offset = begin});
    } else if (c == '(') {
      if (groups_.size() > to_count(GbnfLimits::kDepthMax)) fail_depth(begin);
      ++at_;
      groups_.push_back({.offset = begin, .sequence_offset = at_});
    } else if (c == ')') {
      if (groups_.size() == 1) fail(begin, "no group is open here");
      ++at_;
      const std::uint32_t part = close_group();
      groups_.back().sequence.push_back(part);
    } else if (c == '|') {
      ++at_;
      end_alternative();
      skip_space(true);
    } else if (c == '*' || c == '+' || c == '?' || c == '{') {
      add_repeat();
    } else if (c == '<' || c == '!') {
      fail(begin, "tokens such as <think> or <[1000]> are not supported: write text in quotes");
    } else {
      fail(begin, "expected a literal, a class, a group or the name of a rule");
    }
  }

  static std::size_t to_count(std::int32_t value) { return static_cast<std::size_t>(value); }

  [[noreturn]] void fail_depth(std::size_t offset) const {
    fail(offset, cat("groups and repetitions nest deeper than ", GbnfLimits::kDepthMax));
  }

  /// Appends a part to the list of parts.
  std::uint32_t make(GbnfPart part) {
    budget_.spend(1 + part.children.size());
    for (const std::uint32_t child : part.children) {
      part.height = std::max(part.height, out_.parts[child].height + 1);
    }
    // A group adds a sequence and a choice.
    if (part.height > 3 * GbnfLimits::kDepthMax) fail_depth(part.offset);
    out_.parts.push_back(std::move(part));
    return static_cast<std::uint32_t>(out_.parts.size() - 1);
  }

  /// Appends a part to the open group.
  void add(GbnfPart part) {
    const std::uint32_t index = make(std::move(part));
    groups_.back().sequence.push_back(index);
  }

  void end_alternative() {
    Group& group = groups_.back();
    std::vector<std::uint32_t> sequence = std::exchange(group.sequence, {});
    const std::size_t offset = std::exchange(group.sequence_offset, at_);
    const std::uint32_t part =
        sequence.size() == 1
            ? sequence[0]
            : make({.kind = Kind::kSequence, .children = std::move(sequence), .offset = offset});
    groups_.back().alternatives.push_back(part);
  }

  std::uint32_t close_group() {
    end_alternative();
    Group group = std::move(groups_.back());
    groups_.pop_back();
    if (group.alternatives.size() == 1) return group.alternatives[0];
    return make(
        {.kind = Kind::kChoice, .children = std::move(group.alternatives), .offset = group.offset});
  }

  void add_repeat() {
    const std::size_t begin = at_;
    Group& group = groups_.back();
    if (group.sequence.empty()) fail(begin, "no symbol to repeat stands before this sign");
    GbnfPart part{.kind = Kind::kRepeat, .children = {group.sequence.back()}, .offset = begin};
    const char c = text_[at_++];
    if (c == '{') {
      read_counts(part);
    } else {
      part.count_min = c == '+' ? 1 : 0;
      part.count_max = c == '?' ? 1 : kUnlimited;
    }
    const std::uint32_t index = make(std::move(part));
    groups_.back().sequence.back() = index;
  }

  void read_counts(GbnfPart& part) {
    skip_space(true);
    part.count_min = read_count();
    part.count_max = part.count_min;
    skip_space(true);
    if (peek() == ',') {
      ++at_;
      skip_space(true);
      part.count_max = is_digit_char(peek()) ? read_count() : kUnlimited;
      skip_space(true);
    }
    if (peek() != '}') fail(at_, "expected , or } behind a count");
    ++at_;
    if (part.count_max < part.count_min) fail(part.offset, "the counts are in the wrong order");
    if (part.count_max == 0) fail(part.offset, "a repetition of at most 0 times allows no text");
  }

  std::uint64_t read_count() {
    const std::size_t begin = at_;
    if (!is_digit_char(peek())) fail(at_, "expected a count");
    std::uint64_t count = 0;
    for (; is_digit_char(peek()); ++at_) {
      count = std::min(count * 10 + static_cast<std::uint64_t>(peek() - '0'),
                       GbnfLimits::kCountMax + 1);
    }
    if (count > GbnfLimits::kCountMax) {
      fail(begin, cat("counts are at most ", GbnfLimits::kCountMax));
    }
    return count;
  }

  void add_literal() {
    const std::size_t begin = at_++;
    std::string literal;
    while (peek() != '"') {
      if (at_ == text_.size()) fail(begin, "the literal is not closed");
      append_utf8(literal, read_char());
    }
    ++at_;
    if (literal.empty()) {
      add({.kind = Kind::kSequence, .offset = begin});
    } else {
      add({.kind = Kind::kText, .text = std::move(literal), .offset = begin});
    }
  }

  void add_class() {
    const std::size_t begin = at_++;
    const bool is_negated = peek() == '^';
    if (is_negated) ++at_;
    std::vector<CodePointRange> ranges;
    while (peek() != ']') {
      if (at_ == text_.size()) fail(begin, "the class is not closed");
      const std::size_t range_begin = at_;
      const char32_t first = read_char();
      char32_t last = first;
      if (peek() == '-' && text_.substr(at_).size() > 1 && text_[at_ + 1] != ']') {
        ++at_;
        last = read_char();
      }
      if (last < first) fail(range_begin, "the range's ends are in the wrong order");
      ranges.push_back({first, last});
    }
    ++at_;
    CodePoints characters{std::move(ranges)};
    if (is_negated) characters = characters.complement();
    if (characters.is_empty()) fail(begin, "the class has no characters");
    add({.kind = Kind::kClass, .characters = std::move(characters), .offset = begin});
  }

  /// Reads a character of a literal or a class, perhaps escaped.
  char32_t read_char() {
    if (peek() != '\\') {
      const Utf8Char c = decode_utf8(text_.substr(at_));
      if (!c.valid) fail(at_, "invalid UTF-8");
      at_ += c.size;
      return c.code;
    }
    const std::size_t begin = at_++;
    const char c = peek();
    if (at_ < text_.size()) ++at_;
    switch (c) {
      case 'x':
        return read_hex(2, begin);
      case 'u':
        return read_hex(4, begin);
      case 'U':
        return read_hex(8, begin);
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      default:
        break;
    }
    const bool is_punctuation = c > ' ' && c < '\x7F' && (!is_name_char(c) || c == '-' || c == '_');
    if (!is_punctuation) fail(begin, "unknown escape: use \\n, \\r, \\t, \\xXX, \\uXXXX or \\\\");
    return static_cast<char32_t>(c);
  }

  char32_t read_hex(std::size_t digits, std::size_t begin) {
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      if (is_digit_char(c)) {
        code = code * 16 + static_cast<std::uint32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
      } else {
        fail(begin, cat("the escape needs ", digits, " hexadecimal digits"));
      }
    }
    if (code > CodePoints::kLast || (code >= 0xD800 && code <= 0xDFFF)) {
      fail(begin, "the escape is no Unicode character");
    }
    return code;
  }

  std::string_view text_;
  CompileBudget& budget_;
  std::size_t at_ = 0;
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::uint32_t> rules_by_name_;
  GbnfRules out_;
};

}  // namespace

GbnfRules parse_gbnf(std::string_view text, CompileBudget& budget) {
  return GbnfParser(text, budget).parse();
}

}  // namespace ingot
