// text_rules: draws patterns, and compiles each of them once.
#include "sim/text_rule.h"

#include <utility>

#include "sim/job.h"

namespace ingot::sim {

namespace {

constexpr std::uint64_t kRules = 24;

/// Tokens are characters. No text contains the end of text.
std::shared_ptr<const TokenTrie> characters_trie() {
  std::vector<char> text(kVocab);
  for (std::int32_t id = 0; id < kVocab; ++id) text[static_cast<std::size_t>(id)] = text_of(id);
  return std::make_shared<const TokenTrie>(kVocab, [&](std::int32_t id) -> TokenTrie::Token {
    if (id == kEndOfText) return {};
    return {.bytes = {&text[static_cast<std::size_t>(id)], 1}, .use = TokenUse::kText};
  });
}

/// A character of a set.
TextDfa one_of(std::uint32_t set, CompileBudget& budget) {
  std::vector<TextDfa::State> states(2);
  for (std::int32_t id = 1; id < kVocab; ++id) {
    if ((set >> id & 1) == 0) continue;
    const auto c = static_cast<char32_t>(text_of(id));
    states[0].arcs.push_back({.on = {c, c}, .to = 1});
  }
  states[1].accepts = true;
  return TextDfa(std::move(states), budget);
}

std::shared_ptr<const Constraint> compile(const TextRule& rule,
                                          const std::shared_ptr<const TokenTrie>& trie) {
  CompileBudget budget;
  Grammar grammar;
  std::vector<NodeId> parts;
  for (const std::uint32_t set : rule.sets) parts.push_back(grammar.terminal(one_of(set, budget)));
  grammar.set_root(
      grammar.add(grammar::Repeat{.part = grammar.sequence(std::move(parts)),
                                  .count_min = static_cast<std::uint64_t>(rule.least),
                                  .count_max = static_cast<std::uint64_t>(rule.most)}));
  return make_constraint(std::move(grammar), {}, trie, budget);
}

/// A set of one token, of two tokens, or of about a half of them.
std::uint32_t draw_set(Random& random) {
  const auto one = [&] { return std::uint32_t{1} << random.between(1, kVocab - 1); };
  const int kind = random.below(3);
  if (kind == 0) return one();
  if (kind == 1) return one() | one();
  return one() | (static_cast<std::uint32_t>(random.next()) & ~std::uint32_t{1});
}

std::vector<TextRule> make_rules() {
  const auto trie = characters_trie();
  std::vector<TextRule> rules;
  for (std::uint64_t i = 0; i < kRules; ++i) {
    Random random(i);
    TextRule& rule = rules.emplace_back();
    for (int n = random.between(1, 7); n > 0; --n) rule.sets.push_back(draw_set(random));
    rule.least = random.below(4);
    rule.most = rule.least + random.between(1, 20);
    rule.constraint = compile(rule, trie);
  }
  return rules;
}

}  // namespace

std::span<const TextRule> text_rules() {
  static const std::vector<TextRule> rules = make_rules();
  return rules;
}

const TextRule* rule_of(const Request& request) {
  if (request.constraint == nullptr) return nullptr;
  for (const TextRule& rule : text_rules()) {
    if (rule.constraint == request.constraint) return &rule;
  }
  return nullptr;
}

}  // namespace ingot::sim
