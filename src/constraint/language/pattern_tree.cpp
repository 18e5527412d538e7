// PatternTree: parses regular expressions of ECMA-262, with an explicit stack of groups.
#include "constraint/language/pattern_tree.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/index.h"
#include "base/text.h"
#include "constraint/language/pattern_escape.h"

namespace ingot {
namespace {

using Kind = PatternNode::Kind;

/// A count that a quantifier cannot exceed, far above what the budget allows.
constexpr std::uint32_t kCountMax = 1'000'000'000;

struct Quantifier {
  std::uint32_t count_min = 0;
  std::uint32_t count_max = 0;
};

/// Reads digits; nothing if there are none.
std::optional<std::uint32_t> read_count(PatternReader& reader) {
  std::optional<std::uint32_t> count;
  for (; !reader.is_at_end(); ++reader.at) {
    const char c = reader.text[reader.at];
    if (c < '0' || c > '9') break;
    const std::uint64_t longer =
        count.value_or(0) * std::uint64_t{10} + static_cast<unsigned>(c - '0');
    count = static_cast<std::uint32_t>(std::min<std::uint64_t>(longer, kCountMax));
  }
  return count;
}

/// A group that is not closed yet.
struct OpenGroup {
  Kind kind = Kind::kSequence;  ///< kSequence, kLookahead or kLookbehind
  bool is_negated = false;
  std::size_t begin = 0;                     ///< byte of its '('
  std::vector<std::int32_t> alternatives{};  ///< finished ones
  std::vector<std::int32_t> sequence{};      ///< the last alternative
};

class Parser {
 public:
  Parser(std::string_view pattern, CompileBudget& budget) : reader_{pattern}, budget_(budget) {}

  PatternTree parse() {
    open_.emplace_back();
    while (!reader_.is_at_end()) {
      budget_.spend();
      read_term();
    }
    if (open_.size() > 1) reader_.malformed(open_.back().begin, "( without )");
    tree_.root = close_group();
    return std::move(tree_);
  }

 private:
  void read_term();
  void read_atom(std::size_t begin);
  void open_group(std::size_t begin);
  void skip_group_name(std::size_t begin);
  /// Ends the innermost group and returns its node.
  std::int32_t close_group();
  void end_alternative();
  void append_quantified(std::int32_t node, std::size_t begin);
  std::optional<Quantifier> read_quantifier();
  std::optional<Quantifier> read_braces();

  std::int32_t add(PatternNode node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<std::int32_t>(tree_.nodes.size() - 1);
  }
  std::int32_t add_set(const CodePoints& set);

  PatternReader reader_;
  CompileBudget& budget_;
  PatternTree tree_;
  std::vector<OpenGroup> open_;
  std::map<std::u32string, std::int32_t> known_sets_;
};

void Parser::read_term() {
  const std::size_t begin = reader_.at;
  if (reader_.skips("|")) return end_alternative();
  if (reader_.skips("(")) return open_group(begin);
  if (reader_.skips(")")) {
    if (open_.size() == 1) reader_.malformed(begin, ") without (");
    const std::size_t group = open_.back().begin;
    const std::int32_t node = close_group();
    return append_quantified(node, group);
  }
  if (read_quantifier()) reader_.malformed(begin, "nothing to repeat");
  read_atom(begin);
}

void Parser::read_atom(std::size_t begin) {
  std::int32_t node = 0;
  if (reader_.skips("^")) {
    node = add({.kind = Kind::kStart});
  } else if (reader_.skips("$")) {
    node = add({.kind = Kind::kEnd});
  } else if (reader_.skips("\\b")) {
    node = add({.kind = Kind::kBoundary});
  } else if (reader_.skips("\\B")) {
    node = add({.kind = Kind::kBoundary, .is_negated = true});
  } else if (reader_.sees("\\k")) {
    reader_.unsupported(begin, "a backreference");
  } else if (reader_.skips("\\")) {
    node = add_set(read_escape(reader_));
  } else if (reader_.skips(".")) {
    node = add_set(not_line_ends());
  } else if (reader_.skips("[")) {
    node = add_set(read_class(reader_, budget_));
  } else {
    const char32_t c = reader_.next();
    node = add_set(CodePoints({{c, c}}));
  }
  append_quantified(node, begin);
}

void Parser::open_group(std::size_t begin) {
  if (open_.size() > PatternTree::kDepthMax) {
    reader_.unsupported(begin, cat("more than ", PatternTree::kDepthMax, " nested groups"));
  }
  OpenGroup group{.begin = begin};
  if (reader_.skips("?=") || reader_.skips("?!")) {
    group.kind = Kind::kLookahead;
    group.is_negated = reader_.text[reader_.at - 1] == '!';
  } else if (reader_.skips("?<=") || reader_.skips("?<!")) {
    group.kind = Kind::kLookbehind;
    group.is_negated = reader_.text[reader_.at - 1] == '!';
  } else if (reader_.skips("?<") || reader_.skips("?P<")) {
    skip_group_name(begin);
  } else if (!reader_.skips("?:") && reader_.sees("?")) {
    reader_.unsupported(begin, "this kind of group, or flags");
  }
  open_.push_back(std::move(group));
}

void Parser::skip_group_name(std::size_t begin) {
  const std::size_t first = reader_.at;
  while (!reader_.skips(">")) {
    if (reader_.is_at_end() || reader_.sees(")"))
      reader_.malformed(begin, "the group's name is not closed");
    reader_.next();
  }
  if (reader_.at == first + 1) reader_.malformed(begin, "the group's name is empty");
}

void Parser::end_alternative() {
  OpenGroup& group = open_.back();
  const bool is_single = group.sequence.size() == 1;
  group.alternatives.push_back(
      is_single ? group.sequence[0]
                : add({.kind = Kind::kSequence, .children = std::move(group.sequence)}));
  group.sequence.clear();
}

std::int32_t Parser::close_group() {
  end_alternative();
  OpenGroup group = std::move(open_.back());
  open_.pop_back();
  const std::int32_t body =
      group.alternatives.size() == 1
          ? group.alternatives[0]
          : add({.kind = Kind::kChoice, .children = std::move(group.alternatives)});
  if (group.kind == Kind::kSequence) return body;
  return add({.kind = group.kind,
              .is_negated = group.is_negated,
              .byte = group.begin,
              .children = {body}});
}

void Parser::append_quantified(std::int32_t node, std::size_t begin) {
  const std::optional<Quantifier> quantifier = read_quantifier();
  if (quantifier) {
    const Kind kind = at(tree_.nodes, node).kind;
    const bool is_assertion = kind == Kind::kStart || kind == Kind::kEnd ||
                              kind == Kind::kBoundary || kind == Kind::kLookbehind;
    if (is_assertion && reader_.text[begin] != '(') {
      reader_.malformed(begin, "an assertion cannot be repeated");
    }
    if (kind == Kind::kLookbehind) reader_.malformed(begin, "a lookbehind cannot be repeated");
    if (quantifier->count_min > quantifier->count_max) {
      reader_.malformed(begin, "the numbers of {n,m} are out of order");
    }
    node = add({.kind = Kind::kRepeat,
                .count_min = quantifier->count_min,
                .count_max = quantifier->count_max,
                .children = {node}});
  }
  open_.back().sequence.push_back(node);
}

std::optional<Quantifier> Parser::read_quantifier() {
  std::optional<Quantifier> found;
  if (reader_.skips("*")) {
    found = {0, PatternNode::kNoLimit};
  } else if (reader_.skips("+")) {
    found = {1, PatternNode::kNoLimit};
  } else if (reader_.skips("?")) {
    found = {0, 1};
  } else {
    found = read_braces();
  }
  if (found) reader_.skips("?");  // lazy: the same texts
  return found;
}

/// Reads {n}, {n,} or {n,m}; other braces are literal.
std::optional<Quantifier> Parser::read_braces() {
  PatternReader ahead = reader_;
  if (!ahead.skips("{")) return {};
  const std::optional<std::uint32_t> low = read_count(ahead);
  if (!low) return {};
  Quantifier found{*low, *low};
  if (ahead.skips(",")) found.count_max = read_count(ahead).value_or(PatternNode::kNoLimit);
  if (!ahead.skips("}")) return {};
  reader_ = ahead;
  return found;
}

std::int32_t Parser::add_set(const CodePoints& set) {
  std::u32string key;
  for (const CodePointRange& range : set.ranges()) {
    key += range.first;
    key += range.last;
  }
  const auto [known, is_new] =
      known_sets_.try_emplace(std::move(key), static_cast<std::int32_t>(tree_.sets.size()));
  if (is_new) tree_.sets.push_back(set);
  return add({.kind = Kind::kSet, .set = known->second});
}

}  // namespace

PatternTree parse_pattern(std::string_view pattern, CompileBudget& budget) {
  return Parser(pattern, budget).parse();
}

}  // namespace ingot
