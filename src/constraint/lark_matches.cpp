// Which characters may follow each terminal: sets of first and following characters of all parts.
#include "constraint/lark_matches.h"

#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "constraint/gbnf.h"
#include "constraint/gbnf_facts.h"
#include "constraint/gbnf_parser.h"
#include "constraint/lark_scanner.h"

namespace ingot {

namespace {

using Kind = GbnfPart::Kind;

/// ASCII, and one bit for all other characters.
using Characters = std::bitset<129>;

void add_range(Characters& characters, const CodePointRange& range) {
  for (char32_t c = range.first; c <= range.last && c < 128; ++c) characters.set(c);
  if (range.last >= 128) characters.set(128);
}
Characters characters_of(const CodePoints& points) {
  Characters characters;
  for (const CodePointRange& range : points.ranges()) add_range(characters, range);
  return characters;
}

class FollowFinder {
 public:
  FollowFinder(const GbnfRules& rules, const GbnfFacts& facts, CompileBudget& budget)
      : rules_(rules),
        parts_(rules.parts),
        facts_(facts),
        budget_(budget),
        first_(parts_.size()),
        follow_(parts_.size()) {
    // Neither the inside of terminals nor that of ignored texts matters.
    for (const GbnfRule& rule : rules_.rules) {
      is_inner_.push_back(is_lark_terminal(rule.name) || rule.name.starts_with("ignored"));
    }
    find_first();
    find_follow();
  }

  const Characters& follow(std::uint32_t rule) const { return follow_[rules_.rules[rule].body]; }

  /// The characters with which a terminal of the rules can begin.
  Characters first_of_terminals() const {
    Characters all;
    for (std::uint32_t r = 0; r < rules_.rules.size(); ++r) {
      if (is_inner_[r]) continue;
      for (std::uint32_t p = rules_.rules[r].first; p <= rules_.rules[r].body; ++p) {
        const GbnfPart& part = parts_[p];
        const bool is_leaf = part.kind == Kind::kText || part.kind == Kind::kClass ||
                             (part.kind == Kind::kRule && is_terminal(part.rule));
        if (is_leaf) all |= first_[p];
      }
    }
    return all;
  }

 private:
  bool is_terminal(std::uint32_t rule) const { return is_lark_terminal(rules_.rules[rule].name); }

  void find_first() {
    for (bool is_done = false; !is_done;) {
      is_done = true;
      budget_.spend(parts_.size());
      for (std::size_t r = rules_.rules.size(); r-- > 0;) {
        for (std::uint32_t p = rules_.rules[r].first; p <= rules_.rules[r].body; ++p) {
          const Characters found = first_[p] | first_of(parts_[p]);
          is_done = is_done && found == first_[p];
          first_[p] = found;
        }
      }
    }
  }

  Characters first_of(const GbnfPart& part) {
    Characters out;
    switch (part.kind) {
      case Kind::kText: {
        const char32_t c = decode_utf8(part.text).code;
        add_range(out, {c, c});
        return out;
      }
      case Kind::kClass:
        budget_.spend(part.characters.ranges().size());
        return characters_of(part.characters);
      case Kind::kRule:
        return first_[rules_.rules[part.rule].body];
      case Kind::kSequence:
        for (const std::uint32_t child : part.children) {
          out |= first_[child];
          if (!facts_.is_nullable[child]) break;
        }
        return out;
      default:
        for (const std::uint32_t child : part.children) out |= first_[child];
        return out;
    }
  }

  void find_follow() {
    for (is_done_ = false; !is_done_;) {
      is_done_ = true;
      budget_.spend(parts_.size());
      for (std::size_t r = 0; r < rules_.rules.size(); ++r) {
        if (is_inner_[r]) continue;
        const GbnfRule& rule = rules_.rules[r];
        for (std::uint32_t p = rule.body + 1; p-- > rule.first;) pass_on(parts_[p], follow_[p]);
      }
    }
  }

  void pass_on(const GbnfPart& part, Characters after) {
    switch (part.kind) {
      case Kind::kRule:
        return add_follow(rules_.rules[part.rule].body, after);
      case Kind::kSequence:
        for (std::size_t i = part.children.size(); i-- > 0;) {
          const std::uint32_t child = part.children[i];
          add_follow(child, after);
          after = facts_.is_nullable[child] ? after | first_[child] : first_[child];
        }
        return;
      case Kind::kRepeat:
        if (part.count_max > 1) after |= first_[part.children[0]];
        return add_follow(part.children[0], after);
      default:
        for (const std::uint32_t child : part.children) add_follow(child, after);
    }
  }
  void add_follow(std::uint32_t part, const Characters& after) {
    const Characters all = follow_[part] | after;
    is_done_ = is_done_ && all == follow_[part];
    follow_[part] = all;
  }

  const GbnfRules& rules_;
  const std::vector<GbnfPart>& parts_;
  const GbnfFacts& facts_;
  CompileBudget& budget_;
  std::vector<bool> is_inner_;      ///< by rule: not looked into
  std::vector<Characters> first_;   ///< by part
  std::vector<Characters> follow_;  ///< by part
  bool is_done_ = false;
};

/// The characters that continue one of the texts of a language.
Characters next_of(const TextDfa& language, CompileBudget& budget) {
  Characters next;
  for (std::int32_t state = 0; state < language.size(); ++state) {
    budget.spend();
    if (!language.accepts(state)) continue;
    for (const TextDfa::Arc& arc : language.arcs(state)) add_range(next, arc.on);
    budget.spend(language.arcs(state).size());
  }
  return next;
}

}  // namespace

bool is_lark_terminal(std::string_view rule) {
  if (rule.starts_with("t-")) return true;
  if (!rule.starts_with("l-")) return false;
  const std::size_t first = rule.find_first_not_of('_', 2);
  return first != std::string_view::npos && lark::is_upper(rule[first]);
}

std::string find_early_end(std::string_view gbnf, const CodePoints& behind_ignored,
                           CompileBudget& budget) {
  const GbnfRules rules = parse_gbnf(gbnf, budget);
  const GbnfFacts facts = find_gbnf_facts(rules, gbnf, budget);
  const FollowFinder finder(rules, facts, budget);
  if ((finder.first_of_terminals() & characters_of(behind_ignored)).any()) return "ignored";
  std::vector<std::string> names;
  std::vector<Characters> follow;
  for (std::uint32_t r = 0; r < rules.rules.size(); ++r) {
    if (!is_lark_terminal(rules.rules[r].name) || finder.follow(r).none()) continue;
    names.push_back(rules.rules[r].name);
    follow.push_back(finder.follow(r));
  }
  const auto languages = gbnf_rule_languages(gbnf, names, budget);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!languages[i] || (next_of(*languages[i], budget) & follow[i]).any()) return names[i];
  }
  return {};
}

}  // namespace ingot
