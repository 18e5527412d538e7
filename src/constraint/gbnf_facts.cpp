// Finds facts about the rules of a GBNF text. All passes are linear in the number of parts.
#include "constraint/gbnf_facts.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "constraint/gbnf.h"

namespace ingot {
namespace {

using Kind = GbnfPart::Kind;

class GbnfFactFinder {
 public:
  GbnfFactFinder(const GbnfRules& rules, std::string_view text, CompileBudget& budget)
      : rules_(rules), parts_(rules.parts), text_(text), budget_(budget) {
    facts_.is_regular.assign(parts_.size(), false);
    facts_.is_nullable.assign(parts_.size(), false);
    facts_.is_only_empty.assign(parts_.size(), false);
    facts_.weight.assign(parts_.size(), 0);
    facts_.full_height.assign(parts_.size(), 0);
  }

  GbnfFacts find() {
    budget_.spend(8 * parts_.size());
    link_parts();
    find_nullable();
    refuse_left_recursion();
    find_regular();
    refuse_repeated_empty_texts();
    return std::move(facts_);
  }

 private:
  static constexpr std::uint32_t kNoParent = 0xFFFF'FFFF;

  /// Finds each part's parent, the uses of each rule, and the rule of each body.
  void link_parts() {
    parent_.assign(parts_.size(), kNoParent);
    uses_.resize(rules_.rules.size());
    rule_of_body_.assign(parts_.size(), kNoParent);
    for (std::uint32_t p = 0; p < parts_.size(); ++p) {
      for (const std::uint32_t child : parts_[p].children) parent_[child] = p;
      if (parts_[p].kind == Kind::kRule) uses_[parts_[p].rule].push_back(p);
    }
    for (std::uint32_t r = 0; r < rules_.rules.size(); ++r) rule_of_body_[rules_.rules[r].body] = r;
  }

  /// Calls `on_part` for the part whose facts depend on those of `part`: its parent, or the uses of
  /// the rule whose body it is.
  template <class OnPart>
  void for_dependents(std::uint32_t part, const OnPart& on_part) const {
    if (parent_[part] != kNoParent) {
      on_part(parent_[part]);
    } else if (rule_of_body_[part] != kNoParent) {
      for (const std::uint32_t use : uses_[rule_of_body_[part]]) on_part(use);
    }
  }

  void find_nullable() {
    std::vector<std::size_t> missing(parts_.size(), 1);  // children that must become nullable
    std::vector<std::uint32_t> found;
    const auto mark = [&](std::uint32_t p) {
      if (facts_.is_nullable[p]) return;
      facts_.is_nullable[p] = true;
      found.push_back(p);
    };
    for (std::uint32_t p = 0; p < parts_.size(); ++p) {
      const GbnfPart& part = parts_[p];
      if (part.kind == Kind::kSequence) missing[p] = part.children.size();
      if (missing[p] == 0 || (part.kind == Kind::kRepeat && part.count_min == 0)) mark(p);
    }
    while (!found.empty()) {
      const std::uint32_t p = found.back();
      found.pop_back();
      for_dependents(p, [&](std::uint32_t dependent) {
        if (missing[dependent] > 0) --missing[dependent];
        if (missing[dependent] == 0) mark(dependent);
      });
    }
  }

  /// Appends the rules that a text of `rule` may begin with.
  void append_first_rules(std::uint32_t rule, std::vector<std::uint32_t>& out) const {
    std::vector<std::uint32_t> open = {rules_.rules[rule].body};
    while (!open.empty()) {
      const GbnfPart& part = parts_[open.back()];
      open.pop_back();
      if (part.kind == Kind::kRule) out.push_back(part.rule);
      for (const std::uint32_t child : part.children) {
        open.push_back(child);
        if (part.kind == Kind::kSequence && !facts_.is_nullable[child]) break;
      }
    }
  }

  void refuse_left_recursion() const {
    enum class State : std::uint8_t { kNew, kOpen, kDone };
    struct Frame {
      std::uint32_t rule = 0;
      std::size_t next = 0;
      std::vector<std::uint32_t> first_rules{};
    };
    std::vector<State> states(rules_.rules.size(), State::kNew);
    std::vector<Frame> open;
    const auto enter = [&](std::uint32_t rule) {
      states[rule] = State::kOpen;
      open.push_back({.rule = rule});
      append_first_rules(rule, open.back().first_rules);
    };
    for (std::uint32_t r = 0; r < rules_.rules.size(); ++r) {
      if (states[r] != State::kNew) continue;
      enter(r);
      while (!open.empty()) {
        Frame& frame = open.back();
        if (frame.next == frame.first_rules.size()) {
          states[frame.rule] = State::kDone;
          open.pop_back();
          continue;
        }
        const std::uint32_t next = frame.first_rules[frame.next++];
        if (states[next] == State::kOpen) refuse_rule(next);
        if (states[next] == State::kNew) enter(next);
      }
    }
  }

  [[noreturn]] void refuse_rule(std::uint32_t index) const {
    const GbnfRule& rule = rules_.rules[index];
    throw gbnf_error(text_, rule.offset,
                     cat("the rule '", printable(rule.name, 64),
                         "' is left recursive: use * or + instead, as in term (\"+\" term)*"));
  }

  /// Goes through the rules in an order in which a rule comes behind all rules that it uses. Rules
  /// with recursion, and rules that use them, are never reached.
  void find_regular() {
    std::vector<std::size_t> missing(rules_.rules.size(), 0);  // uses of rules that are not reached
    std::vector<std::uint32_t> ready;
    std::vector<std::uint32_t> rule_of_part(parts_.size());
    for (std::uint32_t r = 0; r < rules_.rules.size(); ++r) {
      const GbnfRule& rule = rules_.rules[r];
      for (std::uint32_t p = rule.first; p <= rule.body; ++p) {
        rule_of_part[p] = r;
        if (parts_[p].kind == Kind::kRule) ++missing[r];
      }
      if (missing[r] == 0) ready.push_back(r);
    }
    while (!ready.empty()) {
      const std::uint32_t r = ready.back();
      ready.pop_back();
      const GbnfRule& rule = rules_.rules[r];
      for (std::uint32_t p = rule.first; p <= rule.body; ++p) describe_regular(p);
      for (const std::uint32_t use : uses_[r]) {
        if (--missing[rule_of_part[use]] == 0) ready.push_back(rule_of_part[use]);
      }
    }
    // In the other rules, parts that do not use a rule with recursion are regular too.
    for (std::uint32_t p = 0; p < parts_.size(); ++p) {
      if (!facts_.is_regular[p]) describe_part(p);
    }
  }

  void describe_part(std::uint32_t p) {
    const GbnfPart& part = parts_[p];
    const bool is_regular =
        part.kind == Kind::kRule
            ? facts_.is_regular[rules_.rules[part.rule].body]
            : std::all_of(part.children.begin(), part.children.end(),
                          [&](std::uint32_t child) { return facts_.is_regular[child]; });
    if (is_regular) describe_regular(p);
  }

  void describe_regular(std::uint32_t p) {
    const GbnfPart& part = parts_[p];
    facts_.is_regular[p] = true;
    std::uint64_t weight = 1 + part.text.size() + part.characters.ranges().size();
    std::int32_t height = 0;
    bool is_only_empty = part.kind != Kind::kText && part.kind != Kind::kClass;
    const auto add_child = [&](std::uint32_t child) {
      weight = std::min(weight + facts_.weight[child], GbnfFacts::kWeightMax);
      height = std::max(height, facts_.full_height[child] + 1);
      is_only_empty = is_only_empty && facts_.is_only_empty[child];
    };
    for (const std::uint32_t child : part.children) add_child(child);
    if (part.kind == Kind::kRule) add_child(rules_.rules[part.rule].body);
    if (part.kind == Kind::kRepeat) {
      const std::uint64_t times =
          part.count_max == kUnlimited ? part.count_min + 1 : part.count_max;
      weight = std::min(weight * times, GbnfFacts::kWeightMax);
    }
    facts_.weight[p] = weight;
    facts_.full_height[p] = height;
    facts_.is_only_empty[p] = is_only_empty;
  }

  void refuse_repeated_empty_texts() const {
    for (const GbnfPart& part : parts_) {
      if (part.kind != Kind::kRepeat || !facts_.is_only_empty[part.children[0]]) continue;
      throw gbnf_error(text_, part.offset, "the repeated part allows only the empty text");
    }
  }

  const GbnfRules& rules_;
  const std::vector<GbnfPart>& parts_;
  std::string_view text_;
  CompileBudget& budget_;
  std::vector<std::uint32_t> parent_, rule_of_body_;
  std::vector<std::vector<std::uint32_t>> uses_;
  GbnfFacts facts_;
};

}  // namespace

GbnfFacts find_gbnf_facts(const GbnfRules& rules, std::string_view text, CompileBudget& budget) {
  return GbnfFactFinder(rules, text, budget).find();
}

}  // namespace ingot
