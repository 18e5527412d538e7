// Compiles GBNF: parts without recursion become languages where they fit, other parts become nodes.
#include "constraint/gbnf.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "constraint/gbnf_facts.h"
#include "constraint/gbnf_parser.h"
#include "constraint/language/pattern.h"

namespace ingot {
namespace {

using Kind = GbnfPart::Kind;

/// Writes regular parts as an ECMA-262 pattern, with all rules written out.
class GbnfPatternWriter {
 public:
  GbnfPatternWriter(const GbnfRules& rules, CompileBudget& budget)
      : rules_(rules), budget_(budget) {}

  /// Returns the pattern of `parts`, joined by `separator`: "" or "|".
  std::string write(std::span<const std::uint32_t> parts, std::string_view separator) {
    push_list(parts, separator);
    while (!open_.empty()) {
      const Item item = std::move(open_.back());
      open_.pop_back();
      budget_.spend();
      if (item.part == kText) {
        out_ += item.text;
      } else {
        write_part(rules_.parts[item.part]);
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kText = 0xFFFF'FFFF;
  /// A part or a text that is still to be written. The last item comes first.
  struct Item {
    std::uint32_t part = kText;
    std::string text{};
  };

  void push_list(std::span<const std::uint32_t> parts, std::string_view separator) {
    for (std::size_t i = parts.size(); i-- > 0;) {
      open_.push_back({.part = parts[i]});
      if (i > 0 && !separator.empty()) open_.push_back({.text = std::string(separator)});
    }
  }

  void write_part(const GbnfPart& part) {
    switch (part.kind) {
      case Kind::kText:
        write_text(part.text);
        return;
      case Kind::kClass:
        write_class(part.characters);
        return;
      case Kind::kRule:
        push_list({&rules_.rules[part.rule].body, 1}, "");
        return;
      case Kind::kSequence:
        push_group(part.children, "", ")");
        return;
      case Kind::kChoice:
        push_group(part.children, "|", ")");
        return;
      case Kind::kRepeat:
        push_group(part.children, "", ")" + quantifier(part));
        return;
    }
  }

  void push_group(std::span<const std::uint32_t> parts, std::string_view separator,
                  std::string close) {
    out_ += "(?:";
    open_.push_back({.text = std::move(close)});
    push_list(parts, separator);
  }

  static std::string quantifier(const GbnfPart& part) {
    if (part.count_max == kUnlimited) return cat("{", part.count_min, ",}");
    return cat("{", part.count_min, ",", part.count_max, "}");
  }

  void write_text(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Char c = decode_utf8(text.substr(at));
      write_char(c.code);
      at += c.size;
    }
  }

  void write_class(const CodePoints& characters) {
    out_ += '[';
    for (const CodePointRange& range : characters.ranges()) {
      write_char(range.first);
      if (range.last == range.first) continue;
      out_ += '-';
      write_char(range.last);
    }
    out_ += ']';
    budget_.spend(characters.ranges().size());
  }

  void write_char(char32_t c) {
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    budget_.spend();
    if (is_plain) {
      out_ += static_cast<char>(c);
      return;
    }
    constexpr std::string_view kHex = "0123456789abcdef";
    out_ += "\\u{";
    int shift = 20;
    while (shift > 0 && (c >> shift) == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) out_ += kHex[(c >> shift) & 15];
    out_ += '}';
  }

  const GbnfRules& rules_;
  CompileBudget& budget_;
  std::vector<Item> open_;
  std::string out_;
};

class GbnfCompiler {
 public:
  GbnfCompiler(Grammar& grammar, const GbnfRules& rules, const GbnfFacts& facts,
               CompileBudget& budget)
      : grammar_(grammar),
        rules_(rules),
        parts_(rules.parts),
        facts_(facts),
        budget_(budget),
        trial_steps_(budget.left() / 2),
        built_(rules.parts.size()),
        rule_nodes_(rules.rules.size(), kNoNode) {}

  NodeId compile() {
    const std::uint32_t body = rules_.rules[rules_.root].body;
    if (facts_.is_regular[body] && facts_.is_only_empty[body]) {
      throw Error(ErrorCode::kInvalid, "allows only the empty text");
    }
    const NodeId root = rule_node(rules_.root);
    while (!open_rules_.empty()) {
      const std::uint32_t rule = open_rules_.back();
      open_rules_.pop_back();
      build_rule(rule);
    }
    return facts_.is_nullable[body] ? grammar_.optional(root) : root;
  }

  /// Returns the texts of a rule, if they fit into one language.
  std::optional<TextDfa> language(std::uint32_t rule) {
    if (facts_.is_only_empty[rules_.rules[rule].body]) return TextDfa::literal("", budget_);
    const std::optional<Built> built = try_rule(rule);
    if (!built) return std::nullopt;
    const auto& terminal = std::get<grammar::Terminal>(grammar_.node(built->whole));
    return grammar_.language(terminal.language);
  }

 private:
  /// The texts of a part or of several neighbours. A node that may match nothing is made only where
  /// one is needed, because a repeated node may not match nothing.
  struct Built {
    NodeId some = kNoNode;  ///< all texts but the empty one; kNoNode: not made yet, or no such text
    NodeId whole = kNoNode;  ///< all texts; kNoNode: not made yet, or only the empty text
    bool is_nullable = false;
  };
  /// Parts that are built as one.
  struct Run {
    std::vector<std::uint32_t> parts{};
    std::optional<Built> language{};  ///< absent: a single part, which is built as nodes
  };
  static constexpr std::uint64_t kPatternWeightMax = 20'000;
  static constexpr std::int32_t kPatternHeightMax = 200;

  /// Returns the node of a rule's texts without the empty one.
  NodeId rule_node(std::uint32_t rule) {
    if (rule_nodes_[rule] == kNoNode) {
      rule_nodes_[rule] = grammar_.reserve();
      open_rules_.push_back(rule);
    }
    return rule_nodes_[rule];
  }

  /// Builds the parts of a rule. Children come before parents in the list of parts: one pass down
  /// decides which parts become nodes, one pass up makes these nodes.
  void build_rule(std::uint32_t index) {
    const GbnfRule& rule = rules_.rules[index];
    std::vector<std::vector<Run>> plans(rule.body - rule.first + 1);
    std::vector<bool> is_node(plans.size(), false);
    std::vector<bool> is_needed(plans.size(), false);
    is_needed.back() = true;
    for (std::uint32_t p = rule.body + 1; p-- > rule.first;) {
      if (!is_needed[p - rule.first] || try_whole(p)) continue;
      is_node[p - rule.first] = true;
      std::vector<Run>& plan = plans[p - rule.first];
      plan = make_plan(parts_[p]);
      for (const Run& run : plan) {
        if (!run.language) is_needed[run.parts[0] - rule.first] = true;
      }
    }
    for (std::uint32_t p = rule.first; p <= rule.body; ++p) {
      if (is_node[p - rule.first]) built_[p] = build_part(parts_[p], plans[p - rule.first]);
    }
    grammar_.set(rule_nodes_[index], grammar::Sequence{{some(built_[rule.body])}});
  }

  /// Builds a part as a language, if it fits.
  bool try_whole(std::uint32_t p) {
    if (facts_.is_only_empty[p]) {
      built_[p] = {.is_nullable = true};
      return true;
    }
    std::optional<Built> language;
    if (parts_[p].kind == Kind::kRule) {
      language = try_rule(parts_[p].rule);
    } else {
      language = try_language({&p, 1}, "");
    }
    if (language) built_[p] = *language;
    return language.has_value();
  }

  /// Builds a rule as a language, if it fits. All its uses share the result.
  std::optional<Built> try_rule(std::uint32_t rule) {
    const auto [found, is_new] = rule_languages_.try_emplace(rule);
    if (is_new) found->second = try_language({&rules_.rules[rule].body, 1}, "");
    return found->second;
  }

  std::optional<Built> try_language(std::span<const std::uint32_t> parts,
                                    std::string_view separator) {
    std::uint64_t weight = 0;
    for (const std::uint32_t p : parts) {
      if (!facts_.is_regular[p] || facts_.full_height[p] > kPatternHeightMax) return std::nullopt;
      weight += facts_.weight[p];
    }
    const GbnfPart& first = parts_[parts[0]];
    if (parts.size() == 1 && first.kind == Kind::kText) {
      return add_language(TextDfa::literal(first.text, budget_));
    }
    if (parts.size() == 1 && first.kind == Kind::kClass) {
      return add_language(class_language(first.characters));
    }
    if (weight > kPatternWeightMax || weight > trial_steps_) return std::nullopt;
    const std::uint64_t share = trial_steps_ / 2;
    CompileBudget trial(share);
    std::optional<TextDfa> language;
    try {
      const std::string pattern = GbnfPatternWriter(rules_, trial).write(parts, separator);
      language = compile_pattern(pattern, Anchoring::kWhole, trial);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalid) throw;  // else it does not fit: nodes are made
    }
    trial_steps_ -= share - trial.left();
    budget_.spend(share - trial.left());
    if (!language) return std::nullopt;
    return add_language(std::move(*language));
  }

  TextDfa class_language(const CodePoints& characters) {
    std::vector<TextDfa::State> states(2);
    for (const CodePointRange& range : characters.ranges()) {
      states[0].arcs.push_back({.on = range, .to = 1});
    }
    states[1].accepts = true;
    return TextDfa(std::move(states), budget_);
  }

  Built add_language(TextDfa language) {
    const bool is_nullable = !language.is_empty() && language.accepts(TextDfa::start());
    const NodeId node = grammar_.terminal(std::move(language));
    if (is_nullable) return {.whole = node, .is_nullable = true};
    return {.some = node, .whole = node};
  }

  /// Returns the node of all texts but the empty one.
  NodeId some(Built& built) {
    if (built.some == kNoNode) {
      // Only languages are made without this node.
      const auto& terminal = std::get<grammar::Terminal>(grammar_.node(built.whole));
      const TextDfa empty = TextDfa::literal("", budget_);
      built.some =
          grammar_.terminal(grammar_.language(terminal.language).without_texts_of(empty, budget_));
    }
    return built.some;
  }

  /// Returns the node of all texts.
  NodeId whole(Built& built) {
    if (built.whole == kNoNode) {
      built.whole = built.is_nullable ? grammar_.optional(built.some) : built.some;
    }
    return built.whole;
  }

  /// Groups the children of a part. Neighbours in a sequence that fit into one language become one
  /// run; so do all alternatives of a choice that fit.
  std::vector<Run> make_plan(const GbnfPart& part) {
    std::vector<std::uint32_t> children = part.children;
    const auto is_regular = [this](std::uint32_t p) -> bool { return facts_.is_regular[p]; };
    if (part.kind == Kind::kChoice) {
      std::stable_partition(children.begin(), children.end(), is_regular);
    }
    std::vector<Run> plan;
    for (auto begin = children.begin(); begin != children.end();) {
      auto end = begin + 1;
      if (is_regular(*begin)) end = std::find_if_not(end, children.end(), is_regular);
      plan_run({begin, end}, part.kind == Kind::kChoice ? "|" : "", plan);
      begin = end;
    }
    return plan;
  }

  /// Appends the runs of `parts`: one if they fit, else those of both halves.
  void plan_run(std::vector<std::uint32_t> parts, std::string_view separator,
                std::vector<Run>& plan) {
    std::vector<Run> open;
    open.push_back({.parts = std::move(parts)});
    while (!open.empty()) {
      Run run = std::move(open.back());
      open.pop_back();
      budget_.spend(run.parts.size());
      if (run.parts.size() > 1) run.language = try_language(run.parts, separator);
      if (run.language || run.parts.size() == 1) {
        plan.push_back(std::move(run));
        continue;
      }
      const auto middle = run.parts.begin() + std::ssize(run.parts) / 2;
      open.push_back({.parts = {middle, run.parts.end()}});
      open.push_back({.parts = {run.parts.begin(), middle}});
    }
  }

  Built build_part(const GbnfPart& part, std::span<const Run> plan) {
    std::vector<Built> items;
    bool has_empty = false;  // whether a child has only the empty text
    for (const Run& run : plan) {
      const Built item = run.language ? *run.language : built_[run.parts[0]];
      if (item.some != kNoNode || item.whole != kNoNode) {
        items.push_back(item);
      } else {
        has_empty = true;
      }
    }
    budget_.spend(1 + items.size());
    switch (part.kind) {
      case Kind::kRule:
        return {.some = rule_node(part.rule),
                .is_nullable = facts_.is_nullable[rules_.rules[part.rule].body]};
      case Kind::kRepeat:
        return build_repeat(part, items[0]);
      case Kind::kChoice:
        return build_choice(items, has_empty);
      default:
        return build_sequence(items);
    }
  }

  Built build_repeat(const GbnfPart& part, Built& item) {
    if (part.count_min == 1 && part.count_max == 1) return item;
    Built built{.is_nullable = part.count_min == 0 || item.is_nullable};
    grammar::Repeat repeat{.part = some(item), .count_max = part.count_max};
    repeat.count_min = built.is_nullable ? 1 : part.count_min;
    built.some = repeat.count_max == 1 ? repeat.part : grammar_.add(repeat);
    repeat.count_min = built.is_nullable ? 0 : part.count_min;
    built.whole = built.is_nullable ? grammar_.add(repeat) : built.some;
    return built;
  }

  Built build_choice(std::span<Built> items, bool has_empty) {
    Built built{.is_nullable = has_empty};
    std::vector<NodeId> nodes;
    for (Built& item : items) {
      built.is_nullable = built.is_nullable || item.is_nullable;
      nodes.push_back(some(item));
    }
    built.some = nodes.size() == 1 ? nodes[0] : grammar_.choice(std::move(nodes));
    return built;
  }

  Built build_sequence(std::span<Built> items) {
    if (items.size() == 1) return items[0];
    const auto is_nullable = [](const Built& item) { return item.is_nullable; };
    if (!std::all_of(items.begin(), items.end(), is_nullable)) {
      std::vector<NodeId> nodes;
      for (Built& item : items) nodes.push_back(whole(item));
      return {.some = grammar_.sequence(std::move(nodes))};
    }
    // From the back: a text of this item, then perhaps texts of later items; or only later items.
    Built built = items.back();
    for (std::size_t i = items.size() - 1; i-- > 0;) {
      const NodeId from_here = grammar_.sequence({some(items[i]), whole(built)});
      built = {.some = grammar_.choice({from_here, some(built)}), .is_nullable = true};
    }
    return built;
  }

  Grammar& grammar_;
  const GbnfRules& rules_;
  const std::vector<GbnfPart>& parts_;
  const GbnfFacts& facts_;
  CompileBudget& budget_;
  std::uint64_t trial_steps_;  ///< what may still be spent on languages that may not fit
  std::vector<Built> built_;   ///< by part
  std::vector<NodeId> rule_nodes_;
  std::vector<std::uint32_t> open_rules_;
  std::unordered_map<std::uint32_t, std::optional<Built>> rule_languages_;
};

}  // namespace

NodeId add_gbnf(Grammar& grammar, std::string_view text, CompileBudget& budget) {
  const GbnfRules rules = parse_gbnf(text, budget);
  const GbnfFacts facts = find_gbnf_facts(rules, text, budget);
  return GbnfCompiler(grammar, rules, facts, budget).compile();
}

std::optional<TextDfa> gbnf_language(std::string_view text, CompileBudget& budget) {
  Grammar grammar;
  NodeId node = add_gbnf(grammar, text, budget);
  bool is_nullable = false;
  if (const auto* repeat = std::get_if<grammar::Repeat>(&grammar.node(node))) {
    if (repeat->count_min > 0 || repeat->count_max != 1) return std::nullopt;
    is_nullable = true;
    node = repeat->part;
  }
  const auto* rule = std::get_if<grammar::Sequence>(&grammar.node(node));
  if (rule != nullptr && rule->parts.size() == 1) node = rule->parts[0];
  const auto* terminal = std::get_if<grammar::Terminal>(&grammar.node(node));
  if (terminal == nullptr) return std::nullopt;
  const TextDfa& texts = grammar.language(terminal->language);
  return is_nullable ? texts.united(TextDfa::literal("", budget), budget) : texts;
}

std::vector<std::optional<TextDfa>> gbnf_rule_languages(std::string_view text,
                                                        std::span<const std::string> names,
                                                        CompileBudget& budget) {
  const GbnfRules rules = parse_gbnf(text, budget);
  const GbnfFacts facts = find_gbnf_facts(rules, text, budget);
  Grammar grammar;
  GbnfCompiler compiler(grammar, rules, facts, budget);
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t r = 0; r < rules.rules.size(); ++r) by_name[rules.rules[r].name] = r;
  std::vector<std::optional<TextDfa>> languages;
  for (const std::string& name : names) {
    const auto found = by_name.find(name);
    languages.push_back(found == by_name.end() ? std::nullopt : compiler.language(found->second));
  }
  return languages;
}

}  // namespace ingot
