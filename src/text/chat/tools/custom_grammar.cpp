// A GBNF grammar becomes a language if it can; else its nodes are copied with other terminals.
#include "text/chat/tools/custom_grammar.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/index.h"
#include "base/text.h"
#include "base/utf8.h"
#include "constraint/gbnf.h"
#include "constraint/language/pattern.h"
#include "text/chat/tools/mark_search.h"

namespace ingot {

namespace {

using MapLanguage = std::function<TextDfa(const TextDfa&)>;

/// Copies the nodes of a GBNF grammar, each terminal as `map` gives it.
class GrammarCopier {
 public:
  GrammarCopier(const Grammar& from, Grammar& to, MapLanguage map, CompileBudget& budget)
      : from_(from), to_(to), map_(std::move(map)), budget_(budget) {}

  NodeId copy(NodeId root) {
    const NodeId made = copy_of(root);
    while (!open_.empty()) {
      const NodeId node = open_.back();
      open_.pop_back();
      budget_.spend();
      to_.set(copies_[node], contents(from_.node(node)));
    }
    return made;
  }

 private:
  NodeId copy_of(NodeId node) {
    if (node == kNoNode) return kNoNode;
    if (copies_.size() <= node) copies_.resize(from_.size(), kNoNode);
    if (copies_[node] == kNoNode) {
      copies_[node] = to_.reserve();
      open_.push_back(node);
    }
    return copies_[node];
  }
  std::vector<NodeId> copies_of(const std::vector<NodeId>& nodes) {
    std::vector<NodeId> made;
    made.reserve(nodes.size());
    for (const NodeId node : nodes) made.push_back(copy_of(node));
    return made;
  }
  GrammarNode contents(const GrammarNode& node) {
    if (const auto* terminal = std::get_if<grammar::Terminal>(&node)) {
      return grammar::Terminal{to_.add_language(map_(from_.language(terminal->language)))};
    }
    if (const auto* sequence = std::get_if<grammar::Sequence>(&node)) {
      return grammar::Sequence{copies_of(sequence->parts)};
    }
    if (const auto* choice = std::get_if<grammar::Choice>(&node)) {
      return grammar::Choice{copies_of(choice->alternatives)};
    }
    grammar::Repeat repeat = std::get<grammar::Repeat>(node);
    repeat.part = copy_of(repeat.part);
    repeat.separator = copy_of(repeat.separator);
    return repeat;
  }

  const Grammar& from_;
  Grammar& to_;
  MapLanguage map_;
  CompileBudget& budget_;
  std::vector<NodeId> copies_;  ///< by node of `from_`
  std::vector<NodeId> open_;    ///< nodes of `from_` whose copy has no contents yet
};

/// JSON's short escapes: the character, and the letter behind the backslash.
constexpr std::array<std::pair<char32_t, char32_t>, 7> kJsonEscapes{
    {{U'"', U'"'}, {U'\\', U'\\'}, {8, U'b'}, {9, U't'}, {10, U'n'}, {12, U'f'}, {13, U'r'}}};

/// Writes a language as the inside of JSON strings. Each character has one spelling: its short
/// escape, \u00XX for other control characters, or itself.
class JsonSpeller {
 public:
  explicit JsonSpeller(const TextDfa& language) : language_(language) {}

  TextDfa spell(CompileBudget& budget) {
    if (language_.is_empty()) return {};
    states_.resize(to_size(language_.size()));
    for (std::int32_t state = 0; state < language_.size(); ++state) spell_state(state, budget);
    return TextDfa(std::move(states_), budget);
  }

 private:
  void add_arc(std::int32_t from, char32_t first, char32_t last, std::int32_t to) {
    if (first > last) return;
    states_[to_size(from)].arcs.push_back({.on = {first, last}, .to = to});
  }
  std::int32_t add_state() {
    states_.emplace_back();
    return static_cast<std::int32_t>(states_.size()) - 1;
  }

  void spell_state(std::int32_t state, CompileBudget& budget) {
    states_[to_size(state)].accepts = language_.accepts(state);
    bool has_escape = false;
    for (const TextDfa::Arc& arc : language_.arcs(state)) {
      budget.spend();
      const auto plain = [&](char32_t low, char32_t high) {
        add_arc(state, std::max(arc.on.first, low), std::min(arc.on.last, high), arc.to);
      };
      plain(0x20, 0x21);
      plain(0x23, 0x5B);
      plain(0x5D, 0x10FFFF);
      has_escape = has_escape || arc.on.first < 0x20;
      for (const char32_t c : {U'"', U'\\'}) {
        has_escape = has_escape || (arc.on.first <= c && c <= arc.on.last);
      }
    }
    if (has_escape) spell_escapes(state, budget);
  }

  void spell_escapes(std::int32_t state, CompileBudget& budget) {
    const std::int32_t behind = add_state();
    add_arc(state, U'\\', U'\\', behind);
    std::array<bool, 0x20> is_short{};
    for (const auto& [c, letter] : kJsonEscapes) {
      if (c < 0x20) is_short[to_size(static_cast<int>(c))] = true;
      const std::int32_t to = language_.step(state, c);
      if (to != TextDfa::kDead) add_arc(behind, letter, letter, to);
    }
    std::int32_t number = TextDfa::kDead;
    std::array<std::int32_t, 2> high = {TextDfa::kDead, TextDfa::kDead};
    for (char32_t c = 0; c < 0x20; ++c) {
      const std::int32_t to = language_.step(state, c);
      budget.spend();
      if (to == TextDfa::kDead || is_short[to_size(static_cast<int>(c))]) continue;
      if (number == TextDfa::kDead) number = add_zeros(behind);
      std::int32_t& digit = high[to_size(static_cast<int>(c >> 4U))];
      if (digit == TextDfa::kDead) {
        digit = add_state();
        const char32_t spelled = U'0' + (c >> 4U);
        add_arc(number, spelled, spelled, digit);
      }
      const char32_t low = c & 15U;
      const char32_t spelled = low < 10 ? U'0' + low : U'a' + (low - 10);
      add_arc(digit, spelled, spelled, to);
    }
  }

  /// Adds u00 behind a backslash, and returns the state behind it.
  std::int32_t add_zeros(std::int32_t behind) {
    std::int32_t last = behind;
    for (const char32_t c : {U'u', U'0', U'0'}) {
      const std::int32_t next = add_state();
      add_arc(last, c, c, next);
      last = next;
    }
    return last;
  }

  const TextDfa& language_;
  std::vector<TextDfa::State> states_;
};

NodeId copy_custom(Grammar& grammar, const Tool& tool, MapLanguage map, CompileBudget& budget) {
  Grammar scratch;
  const NodeId root = add_gbnf(scratch, tool.grammar, budget);
  return GrammarCopier(scratch, grammar, std::move(map), budget).copy(root);
}

}  // namespace

std::optional<TextDfa> custom_language(const Tool& tool, CompileBudget& budget) {
  switch (tool.grammar_kind) {
    case Tool::Grammar::kText:
      return TextDfa::all(budget);
    case Tool::Grammar::kRegex:
      return compile_pattern(tool.grammar, Anchoring::kWhole, budget);
    case Tool::Grammar::kGbnf:
      break;
  }
  return gbnf_language(tool.grammar, budget);
}

NodeId add_custom_string(Grammar& grammar, const Tool& tool, CompileBudget& budget) {
  if (tool.grammar_kind == Tool::Grammar::kText) return grammar.add(grammar::String{});
  if (auto language = custom_language(tool, budget)) {
    return grammar.add(grammar::String{.language = grammar.add_language(std::move(*language))});
  }
  const auto spell = [&](const TextDfa& language) { return JsonSpeller(language).spell(budget); };
  const NodeId inside = copy_custom(grammar, tool, spell, budget);
  return grammar.sequence({grammar.literal("\"", budget), inside, grammar.literal("\"", budget)});
}

NodeId add_custom_text(Grammar& grammar, const Tool& tool, std::span<const std::string> marks,
                       CompileBudget& budget) {
  const TextDfa allowed = TextDfa::without(marks, budget);
  const auto keep = [&](const TextDfa& language) { return language.intersected(allowed, budget); };
  const NodeId root = copy_custom(grammar, tool, keep, budget);
  if (can_write_mark(grammar, root, marks, budget)) {
    std::string all;
    for (const std::string& mark : marks) all += cat(all.empty() ? "" : " or ", printable(mark));
    throw Error(
        ErrorCode::kInvalid,
        cat("parts of its recursive rules can write ", all,
            " together, which this model's form of calls does not allow: let one literal or "
            "class write what begins so"));
  }
  return root;
}

}  // namespace ingot
